import type { EventBody } from '../../../core/events.ts'
import type { Epoch } from '../../../core/records.ts'
import type { PrepareContext } from '../../prepare/context.ts'
import type { Reduction } from '../design.ts'
import { highWater, messagesOf } from '../../epoch/thresholds.ts'

/** The words of a design's own log for a reduction; people who ran it grep for them. */
export function reductionLines(context: PrepareContext, { before, after, epoch }: Reduction): EventBody[] {
  const { policy } = context.deps
  const say = (message: string): EventBody => ({ type: 'warning', topic: policy.name, message })
  const threshold = Math.floor(highWater(policy, context.limit, context.branch.log.cacheIsWarm))
  const compressed = epoch.edits.filter((edit) => edit.op === 'replace').length
  const from = messagesOf(before.conversation.items)
  const to = messagesOf(after.conversation.items)
  return [
    say(`THRESHOLD EXCEEDED: context=${Math.ceil(before.load.count.tokens)}, threshold=${threshold}`),
    ...(compressed > 0 ? [say(`LAYER 2 COMPRESSION: Compressing ${compressed} tool result(s)`)] : []),
    say(`Context reduced via ${managerOf(epoch)} manager: messages ${from}->${to}`),
  ]
}

function managerOf({ edits }: Epoch): string {
  const summary = edits.some(
    (edit) => edit.op === 'insert' && edit.reason.includes('stands for') && !edit.reason.includes('window'),
  )
  if (summary) return 'summarizing'
  return edits.some((edit) => edit.op === 'drop') ? 'sliding' : 'mapping'
}
