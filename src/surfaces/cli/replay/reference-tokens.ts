import type { Conversation } from '../../../core/conversation.ts'
import type { Item } from '../../../core/item.ts'
import type { Tokenizers } from '../../../drivers/tokenizers/index.ts'

/** Around a message, by the vocabulary's own vendor. */
const PER_MESSAGE = 4

/**
 * A provider that counts `times` as much as a public vocabulary does: what requests really hold is then known, and the engine, which has an
 * opinion of its own about the model, is not told.
 */
export async function referenceTokens(
  tokenizers: Tokenizers,
  times: number,
): Promise<{ request(view: Conversation): number; text(text: string): number }> {
  if (!(await tokenizers.load('o200k'))) throw new Error('The vocabulary o200k is not installed.')
  const vocabulary = tokenizers.get('o200k')!
  const items = new WeakMap<Item, number>()
  const texts = new Map<string, number>()
  const ofText = (text: string): number => {
    const known = texts.get(text) ?? vocabulary.count(text).tokens
    texts.set(text, known)
    return known
  }
  const ofItem = (item: Item): number => {
    const known = items.get(item) ?? vocabulary.count(item.text).tokens + vocabulary.count(item.toolName ?? '').tokens
    items.set(item, known)
    return known
  }
  return {
    text: (text) => Math.round(vocabulary.count(text).tokens * times),
    request({ head, items: history, tools }) {
      const messages = new Set(history.map(({ message }) => message)).size
      const raw =
        [...head, ...history].reduce((sum, item) => sum + ofItem(item), 0) +
        tools.reduce((sum, { text }) => sum + ofText(text), 0)
      return Math.round((raw + PER_MESSAGE * messages) * times)
    },
  }
}
