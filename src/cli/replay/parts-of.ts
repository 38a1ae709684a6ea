import type { Conversation } from '../../core/conversation.ts'
import type { ConversationView } from '../../lab/replay/conversation-view.ts'
import { partOf } from '../../dashboard/composition.ts'

export interface PartsOptions {
  /** What the parts add up to. */
  readonly load: number
  /** Texts that compactions put in. */
  readonly records: ReadonlySet<string>
}

/** Tokens of a request by what they are, under the names that the dashboard uses. `pieces`: tools, head and history, counted. */
export function partsOf(
  view: Conversation,
  { pieces }: Pick<ConversationView, 'pieces'>,
  { load, records }: PartsOptions,
): Readonly<Record<string, number>> {
  const sums = new Map<string, number>()
  const fixed = view.tools.length + view.head.length
  pieces.forEach(({ tokens }, place) => {
    const item = view.items[place - fixed]
    const part = item === undefined ? 'instructions and tools' : records.has(item.text) ? 'record' : partOf(item)
    sums.set(part, (sums.get(part) ?? 0) + tokens)
  })
  const all = [...sums.values()].reduce((sum, size) => sum + size, 0)
  return Object.fromEntries(Array.from(sums, ([part, size]) => [part, all === 0 ? 0 : (size / all) * load]))
}
