import type { Conversation } from '../../src/core/conversation.ts'
import type { Item } from '../../src/core/item.ts'
import { createTokenizers } from '../../src/drivers/tokenizers/tokenizers.ts'
import type { ReplayProvider } from '../../src/lab/replay/replay.ts'

/** Around a message, by the vocabulary's own vendor. */
const PER_MESSAGE = 4

/**
 * A provider that counts `times` as much as a public vocabulary does: what requests really hold is then known, and the engine, which has an
 * opinion of its own about the model, is not told.
 */
export async function referenceProvider(times: number, reportsUsage: boolean): Promise<ReplayProvider> {
  const tokenizers = createTokenizers()
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
  const count = ({ head, items: history, tools }: Conversation): number => {
    const messages = new Set(history.map(({ message }) => message)).size
    const raw =
      [...head, ...history].reduce((sum, item) => sum + ofItem(item), 0) +
      tools.reduce((sum, { text }) => sum + ofText(text), 0)
    return Math.round((raw + PER_MESSAGE * messages) * times)
  }
  return {
    count,
    usageOf: reportsUsage
      ? (view, { parts }) => {
          const output = Math.round(parts.reduce((sum, part) => sum + ofPart(part), 0) * times)
          return { input: count(view), cacheRead: 0, cacheWrite: 0, output, reasoning: 0 }
        }
      : undefined,
  }
}
