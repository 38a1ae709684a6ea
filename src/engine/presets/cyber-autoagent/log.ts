import type { EventBody } from '../../../core/events.ts'
import type { Epoch, EpochEdit } from '../../../core/records.ts'
import { highWater, messagesOf } from '../../epoch/thresholds.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'
import type { Reduction } from '../design.ts'
import { line } from './estimate.ts'

const tokensIn = ({ load }: View): number => Math.ceil(load.count.tokens)
const thresholdOf = ({ deps, limit, branch }: PrepareContext): number =>
  Math.floor(highWater(deps.policy, limit, branch.log.cacheIsWarm))

/** What the budget check found, before each request; the hook announces itself with the first. */
export function decisionLines(context: PrepareContext, view: View): EventBody[] {
  const { branch } = context
  const messages = messagesOf(view.conversation.items)
  return [
    ...(branch.requests.last === undefined ? [line('info', 'HOOK REGISTRATION: PromptBudgetHook')] : []),
    line('info', `TOKEN ESTIMATION: ${tokensIn(view)} tokens in ${messages} messages`),
    line('info', `BUDGET CHECK: context=${tokensIn(view)}, threshold=${thresholdOf(context)}`),
  ]
}

/** What a reduction did, layer by layer. */
export function reductionLines(context: PrepareContext, { before, after, epoch }: Reduction): EventBody[] {
  const threshold = thresholdOf(context)
  const tokens = tokensIn(before)
  const { edits } = epoch
  const compressed = edits.filter((edit) => edit.reason.endsWith('characters compressed')).length
  const slid = dropped(edits, (reason) => reason.startsWith('outside the window'))
  const folded = dropped(edits, (reason) => reason === 'folded into the summary')
  const [from, to] = [before, after].map((view) => messagesOf(view.conversation.items)) as [number, number]
  return [
    // The window may have been too long in messages alone; then no threshold was exceeded.
    ...(tokens >= threshold ? [line('warning', `THRESHOLD EXCEEDED: context=${tokens}, threshold=${threshold}`)] : []),
    // The document counts its layers from 1 in its log, and from 0 in its text.
    ...(compressed > 0 ? [line('info', `LAYER 2 COMPRESSION: Compressing ${compressed} tool result(s)`)] : []),
    ...(slid > 0 ? [line('info', `LAYER 3 SLIDING WINDOW: Removing ${slid} item(s)`)] : []),
    ...(folded > 0 ? [line('info', `LAYER 4 SUMMARIZATION: Summarizing ${folded} item(s)`)] : []),
    line('info', `Context reduced via ${managerOf(epoch)} manager: messages ${from}->${to}`),
  ]
}

const dropped = (edits: readonly EpochEdit[], isIt: (reason: string) => boolean): number =>
  edits.reduce((sum, edit) => sum + (edit.op === 'drop' && isIt(edit.reason) ? edit.to - edit.from : 0), 0)

function managerOf({ edits }: Epoch): string {
  if (edits.some((edit) => edit.op === 'drop' && edit.reason === 'folded into the summary')) return 'summarizing'
  return edits.some((edit) => edit.op === 'drop') ? 'sliding' : 'mapping'
}
