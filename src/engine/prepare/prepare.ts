import type { Epoch } from '../../core/records.ts'
import { isNews, logRequest, noteArchived, storeTexts, unwrittenOf, type Decided } from '../session/archive.ts'
import { startSummary, takeSummary } from '../epoch/background-summary.ts'
import type { Branch } from '../session/branch/branch.ts'
import type { Unwritten } from '../session/branch/open-turns.ts'
import { withCacheMarks } from './decorate/cache-marks.ts'
import { storedText } from '../epoch/cascade/draft.ts'
import { withContextNotice } from './decorate/context-notice.ts'
import { isOver, limitsOf, openContext, viewOf, type PrepareContext, type View } from './context.ts'
import type { EngineDeps } from '../deps.ts'
import { designLogOf } from '../presets/designs.ts'
import { noteHighWater, placeOf } from '../epoch/epoch-hooks.ts'
import { closingTurn, finalStepOf, isUsedUp, withFewerTools } from './final-turn.ts'
import { finish } from './finish-turn.ts'
import { newFirstSendEdits, type NewEdit } from '../tool-results/first-send.ts'
import { withoutForeignSeals } from './decorate/foreign-seals.ts'
import { passBudgetGate, type Permission } from '../spending/budget-gate.ts'
import { callHook } from '../hooks.ts'
import { withNative } from './decorate/native.ts'
import { validate, tooLarge } from './outgoing.ts'
import { lowerOutput } from './output-reserve.ts'
import type { PrepareRequest, PreparedTurn } from './prepared-turn.ts'
import { needsEpoch, reduce } from './reduce.ts'
import { refinedView } from './refine-view.ts'
import { keepAlive } from '../store-admin/retention.ts'
import { resolveStanding } from './resolve-standing.ts'
import { squeezeNew } from '../tool-results/squeeze-new.ts'
import type { Standing } from './standing.ts'

export type { PreparedTurn, PrepareRequest } from './prepared-turn.ts'

/** decode → standing edits → first-send edits → measure → epoch if needed → validate → log → encode. */
export async function prepare(deps: EngineDeps, branch: Branch, request: PrepareRequest): Promise<PreparedTurn> {
  const opened = openContext(deps, branch, request)
  await deps.loadTokenizer?.(opened.target.model)
  const { items } = opened.conversation
  const { standing: found, moved } = await resolveStanding(opened)
  const intake = await newFirstSendEdits(opened, found)
  await storeTexts(
    deps,
    branch,
    intake.flatMap(({ index, about }) => (about === undefined ? [] : [{ ...storedText(items[index]!), about }])),
  )
  const shown: Standing = {
    ...found,
    firstSend: new Map([...found.firstSend, ...intake.map((edit) => [edit.index, edit.record] as const)]),
  }
  await keepAlive(deps, branch, shown)
  const asked = await refinedView(opened, shown, viewOf(opened, shown))
  noteHighWater(opened, asked)
  const roomier = branch.wish.request !== undefined ? undefined : withLessOutput(opened, asked)
  const context = roomier ?? opened
  const before = roomier === undefined ? asked : viewOf(roomier, shown)
  let decided: Decided = { standing: moved === undefined ? found : withoutEpoch(found), edits: intake }
  let logged: Promise<void> | undefined
  const log = (): Promise<void> => (logged ??= logRequest(context, decided))
  const ready = branch.wish.request !== undefined ? undefined : await takeSummary(context, shown, before, log)
  const isReduced = ready === undefined && roomier === undefined && needsEpoch(context, shown, before)
  const reduced = isReduced ? await reduce(context, shown, before, log) : undefined
  const declared = ready ?? reduced?.declared
  const squeezed =
    declared === undefined && isOver(before.load, context.limit)
      ? await squeezeNew(context, shown, before, intake)
      : undefined
  const view = declared?.view ?? squeezed?.view ?? before
  const standing = squeezed?.standing ?? shown
  const newEdits = squeezed?.edits ?? intake
  decided = { ...decided, edits: newEdits }
  if (declared === undefined && moved !== undefined) await keepMoved(context, moved, view)
  const final = finalStepOf(context)
  const closing =
    final !== undefined && isUsedUp(context, standing, before)
      ? (withFewerTools(context, view) ?? closingTurn(context, view, final))
      : undefined
  const leaving = closing?.view ?? view
  designLogOf(deps.policy)
    .decided?.(context, leaving, closing?.verdict.kind ?? 'proceed')
    .forEach(context.emit)
  // Caution alone refuses nothing: a guess about an unknown tokenizer may cost an epoch, not the request.
  if (isOver(leaving.estimate, context.limit)) throw tooLarge(context, reduced?.smallest ?? leaving)
  const permitted = await passBudgetGate(context, leaving, closing?.verdict)
  const permission: Permission = { ...permitted, view: dressed(context, permitted.view) }
  try {
    if (permission.view.text !== context.text) validate(context, permission.view, permitted.view)
    // What was decided is durable before it leaves. The client's own items may wait for the answer: it sends them again.
    const mayWait = request.archive === 'meanwhile' && permission.verdict.kind !== 'halt' && logged === undefined
    const unwritten: Unwritten | undefined =
      mayWait && !isNews(context, decided)
        ? { records: () => unwrittenOf(context, decided), written: () => noteArchived(context) }
        : undefined
    if (unwritten === undefined) await log()
    await tellHooks(context, newEdits, permission)
    if (declared === undefined && closing === undefined) await startSummary(context, standing, view)
    return finish(context, request, {
      before,
      permission,
      newEdits,
      epoch: declared?.epoch,
      standing,
      unwritten,
      moved: moved !== undefined,
    })
  } catch (error) {
    // What never leaves is never billed.
    if (permission.reservation !== undefined) await deps.budgets?.release(permission.reservation)
    throw error
  }
}

const withoutEpoch = ({ epochs, anchors, firstSend }: Standing): Standing => ({ epochs, anchors, firstSend })

/** What stands on top of the view for this one request. */
const dressed = (context: PrepareContext, view: View): View =>
  withCacheMarks(context, withContextNotice(context, withNative(context, withoutForeignSeals(context, view))))

async function tellHooks(
  context: PrepareContext,
  newEdits: readonly NewEdit[],
  { verdict }: Permission,
): Promise<void> {
  const { deps, conversation, emit } = context
  for (const { index, record, original } of newEdits) {
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

/** The output cap gives way first, where that alone makes the request fit. */
function withLessOutput(context: PrepareContext, view: View): PrepareContext | undefined {
  const { deps, target, conversation, emit } = context
  const roomier = lowerOutput(context, view, limitsOf(deps, target, conversation))
  if (roomier !== undefined)
    emit({
      type: 'output-lowered',
      asked: conversation.settings.maxOutputTokens!,
      to: roomier.conversation.changes!.maxOutputTokens!,
    })
  return roomier
}

async function keepMoved({ deps, branch }: PrepareContext, moved: Epoch, { load }: View): Promise<void> {
  const { epoch } = await deps.sessions.claimEpoch(branch.tenant, branch.session, { ...moved, after: load.count.high })
  branch.standing.take(epoch)
}
