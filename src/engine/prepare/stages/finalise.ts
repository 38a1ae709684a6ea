import type { PrepareContext } from '../context.ts'
import { decorate } from '../decorate/decorate.ts'
import { finish } from '../finish-turn.ts'
import { validate } from '../outgoing.ts'
import type { PreparedTurn } from '../prepared-turn.ts'
import { startSummary } from '../../epoch/background-summary.ts'
import { placeOf } from '../../epoch/announce-epoch.ts'
import { callHook, type Hooks } from '../../hooks.ts'
import { sentRecords } from '../../session/sent-request.ts'
import type { Permission } from '../../spending/budget-gate.ts'
import type { NewEdit } from '../../tool-results/first-send.ts'
import type { Permitted } from './permit.ts'

/** Writes what leaves and checks it; what was decided is durable before it is handed out. */
export function finalise(permitted: Permitted): Promise<PreparedTurn> {
  const { reservation } = permitted.permission
  const turn = handOut(permitted)
  if (reservation === undefined) return turn
  return turn.catch(async (error: unknown) => {
    // What never leaves is never billed.
    await permitted.context.deps.budgets?.release(reservation)
    throw error
  })
}

async function handOut(permitted: Permitted): Promise<PreparedTurn> {
  const { request, context, standing, view, edits, epoch, journal, isClosing } = permitted
  const { view: leaving, read } = decorate(context, permitted.permission.view)
  const { verdict, reservation } = permitted.permission
  const permission: Permission = { verdict, reservation, view: leaving }
  await context.pause()
  if (leaving.text !== context.text) validate(context, leaving, read)
  await context.pause()
  // The client's own items may wait for the answer: it sends them again.
  const mayWait = request.archive === 'meanwhile' && permission.verdict.kind !== 'halt'
  const unwritten = mayWait ? journal.later() : undefined
  if (unwritten === undefined) {
    // A halted request never leaves; of one whose answer is read along, the answer will tell.
    const isSent =
      request.archive !== 'meanwhile' && (permission.verdict.kind !== 'halt' || request.sentAnyway === true)
    await journal.writeWith(isSent ? sentRecords(context, epoch?.id ?? standing.epoch?.id, isClosing) : [])
  }
  if (context.deps.hooks !== undefined) await tellHooks(context, context.deps.hooks, edits, permission)
  if (epoch === undefined && !isClosing && context.deps.summarizer !== undefined)
    await startSummary(context, standing, view)
  return finish(permitted, permission, unwritten)
}

async function tellHooks(
  context: PrepareContext,
  hooks: Hooks,
  edits: readonly NewEdit[],
  { verdict }: Permission,
): Promise<void> {
  const { conversation, emit } = context
  for (const { index, record, original } of edits) {
    const { toolName: tool, callId } = conversation.items[index]!
    const info = {
      ...placeOf(context),
      via: 'first-send' as const,
      ...(tool !== undefined && { tool }),
      ...(callId !== undefined && { callId }),
      text: record.text,
      truncated: true,
      originalBytes: Buffer.byteLength(original),
      handle: record.handle,
    }
    await callHook(hooks, 'afterToolResult', info, emit)
  }
  await callHook(hooks, 'onVerdict', { ...placeOf(context), verdict }, emit)
}
