import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { Tokenizers } from '../../drivers/tokenizers/index.ts'

/** Around a message, by the vocabulary's own vendor. */
const PER_MESSAGE = 4

export interface ReferenceTokens {
  request(view: Conversation): number
  /** An answer, as it is counted when it comes back in the next request. */
  answer(parts: readonly Pick<Item, 'text' | 'toolName'>[]): number
}

/**
 * A provider that counts `times` as much as a public vocabulary does: what requests really hold is then known, and the engine, which has an
 * opinion of its own about the model, is not told.
 */
export async function referenceTokens(tokenizers: Tokenizers, times: number): Promise<ReferenceTokens> {
  if (!(await tokenizers.load('o200k'))) throw new Error('The vocabulary o200k is not installed.')
  const vocabulary = tokenizers.get('o200k')!
  const items = new WeakMap<Item, number>()
  const texts = new Map<string, number>()
  const ofText = (text: string): number => {
    const known = texts.get(text) ?? vocabulary.count(text).tokens
    texts.set(text, known)
    return known
  }
  const ofPart = ({ text, toolName = '' }: Pick<Item, 'text' | 'toolName'>): number =>
    vocabulary.count(text).tokens + vocabulary.count(toolName).tokens
  const ofItem = (item: Item): number => {
    const known = items.get(item) ?? ofPart(item)
    items.set(item, known)
    return known
  }
  return {
    answer: (parts) => Math.round(parts.reduce((sum, part) => sum + ofPart(part), 0) * times),
    request({ head, items: history, tools }) {
      const messages = new Set(history.map(({ message }) => message)).size
      const raw =
        [...head, ...history].reduce((sum, item) => sum + ofItem(item), 0) +
        tools.reduce((sum, { text }) => sum + ofText(text), 0)
      return Math.round((raw + PER_MESSAGE * messages) * times)
    },
  }
}
