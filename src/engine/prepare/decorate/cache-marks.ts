import type { Conversation } from '../../../core/conversation.ts'
import type { Item } from '../../../core/item.ts'
import type { PrepareContext } from '../context.ts'

/**
 * The text with cache marks, where the client set none and the wire has them. They are placed anew on every request, after an epoch
 * too; the provider does not count them as a change of the prefix. A single question without tools gets none: writing to the cache
 * costs more than plain input, and nobody would read it again. `suffixMessages`: those at the end that the next request will not have.
 */
export function withCacheMarks(
  { deps, codec, limit, conversation }: PrepareContext,
  sent: Conversation,
  text: string,
  suffixMessages: number,
): string {
  if (deps.cacheMarks !== true || codec.placeCacheMarks === undefined || !willContinue(conversation)) return text
  const summary = summaryMessage(sent)
  const marked = codec.placeCacheMarks(text, {
    suffixMessages,
    ...(summary !== undefined && { summaryMessage: summary }),
  })
  return marked === undefined || Buffer.byteLength(marked) > limit.bytes ? text : marked
}

const willContinue = ({ items, tools }: Conversation): boolean =>
  tools.length > 0 || items.some((item) => item.role === 'assistant')

/** What we insert joins a neighbour of its role. */
const isOneMessage = (a: Item, b: Item): boolean =>
  a.message < 0 || b.message < 0 ? a.role === b.role : a.message === b.message

/** Index of the last message that we inserted: what an epoch made of the history stands up to there. */
function summaryMessage({ items }: Conversation): number | undefined {
  let index = -1
  let previous: Item | undefined
  let found: number | undefined
  for (const item of items) {
    if (previous === undefined || !isOneMessage(previous, item)) index++
    if (item.message < 0) found = index
    previous = item
  }
  return found
}
