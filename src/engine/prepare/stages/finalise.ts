import type { PrepareContext } from '../context.ts'
import { decorate } from '../decorate/decorate.ts'
import { finish } from '../finish-turn.ts'
import { validate } from '../outgoing.ts'
import type { PreparedTurn } from '../prepared-turn.ts'
import { startSummary } from '../../epoch/background-summary.ts'
import { placeOf } from '../../epoch/epoch-hooks.ts'
import { callHook } from '../../hooks.ts'
import { sentRecords } from '../../session/sent-request.ts'
import type { Permission } from '../../spending/budget-gate.ts'
import type { NewEdit } from '../../tool-results/first-send.ts'
import type { Permitted } from './permit.ts'

/** Writes what leaves and checks it; what was decided is durable before it is handed out. */
export async function finalise(permitted: Permitted): Promise<PreparedTurn> {
  try {
    return await handOut(permitted)
  } catch (error) {
    // What never leaves is never billed.
    const { permission, context } = permitted
    if (permission.reservation !== undefined) await context.deps.budgets?.release(permission.reservation)
    throw error
  }
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
  await tellHooks(context, edits, permission)
  if (epoch === undefined && !isClosing) await startSummary(context, standing, view)
  return finish(permitted, permission, unwritten)
}

async function tellHooks(context: PrepareContext, edits: readonly NewEdit[], { verdict }: Permission): Promise<void> {
  const { deps, conversation, emit } = context
  if (deps.hooks === undefined) return
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
    await callHook(deps.hooks, 'afterToolResult', info, emit)
  }
  await callHook(deps.hooks, 'onVerdict', { ...placeOf(context), verdict }, emit)
}
