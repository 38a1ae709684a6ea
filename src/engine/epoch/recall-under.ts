import type { Epoch, RecordRecall } from '../../core/records.ts'
import type { PrepareContext, View } from '../prepare/context.ts'
import { recordRecall } from './record/record-recall.ts'

/** What a view still says of the items that an epoch drops or shortens. */
export function recallUnder(
  { conversation, links }: Pick<PrepareContext, 'conversation' | 'links'>,
  { edits }: Pick<Epoch, 'edits'>,
  view: Pick<View, 'conversation'>,
): RecordRecall {
  const places = new Set<number>()
  for (const edit of edits) {
    if (edit.op === 'drop') for (let place = edit.from; place < edit.to; place++) places.add(place)
    if (edit.op === 'replace') places.add(edit.at)
  }
  const taken = [...places].sort((a, b) => a - b).map((place) => conversation.items[links[place]!.index]!)
  return recordRecall(taken, view.conversation.items)
}
