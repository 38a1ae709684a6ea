import type { Item } from '../../../core/item.ts'
import type { LoadEstimator } from '../messages.ts'

/** The sliding window's estimate: characters of the contents / 4, roles and names not counted. */
export const autosreSliding: LoadEstimator = {
  name: 'autosre-sliding',
  estimate: ({ items }) => Math.floor(items.reduce((sum, { text }) => sum + text.length, 0) / 4),
}

/** A part that is neither text nor a call nor a result counts as this many characters. */
const OTHER_PART = 500

/** The emergency brake's estimate: characters / 2.5, system text included, names and arguments of calls too. */
export const autosreEmergency: LoadEstimator = {
  name: 'autosre-emergency',
  estimate: ({ head, items }) => Math.floor([...head, ...items].reduce((sum, item) => sum + characters(item), 0) / 2.5),
}

function characters(item: Item): number {
  const name = item.kind === 'call' ? (item.toolName ?? '').length : 0
  return name + item.text.length + (item.media?.length ?? 0) * OTHER_PART
}
