import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { SentPiece } from './session-price.ts'
import { readableText } from './source.ts'

/** A decoded view as the measures need it. */
export interface ConversationView {
  readonly pieces: readonly SentPiece[]
  readonly texts: readonly string[]
}

/** Tools and head first, as providers cache them; then the history item by item. */
export function conversationView(
  conversation: Conversation,
  tokensOf: (item: Item) => number,
  countText: (text: string) => number,
): ConversationView {
  const items = [...conversation.head, ...conversation.items]
  const tools = conversation.tools.map((tool): SentPiece => ({ text: tool.text, tokens: countText(tool.text) }))
  return {
    pieces: [...tools, ...items.map((item): SentPiece => ({ text: item.text, tokens: tokensOf(item) }))],
    texts: items.map(readableText),
  }
}
