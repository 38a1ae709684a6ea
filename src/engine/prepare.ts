import type { Conversation } from '../core/conversation.ts'
import type { Plan } from '../core/edits.ts'
import { PlimsollError } from '../core/errors.ts'
import type { Epoch } from '../core/records.ts'
import type { Limit, Load, Target, Verdict } from '../core/target.ts'
import type { SendToModel } from '../ports/model-call.ts'
import { isNews, logRequest, noteArchived, storeTexts, unwrittenOf, type Decided } from './archive.ts'
import type { Branch, Unwritten } from './branch.ts'
import { withCacheMarks } from './cache-marks.ts'
import { storedText } from './cascade/draft.ts'
import { withContextNotice } from './context-notice.ts'
import { isOver, limitsOf, openContext, viewOf, type PrepareContext, type View } from './context.ts'
import { announceEpoch, type DeclaredEpoch } from './announce-epoch.ts'
import { dropSummary, isWriting, startSummary, takeSummary } from './background-summary.ts'
import { declareEpoch } from './declare-epoch.ts'
import type { EngineDeps } from './deps.ts'
import { askBeforeEpoch, noteHighWater, placeOf } from './epoch-hooks.ts'
import { newFirstSendEdits, toolUseOf, type NewEdit } from './first-send.ts'
import { debugLines } from './design-log.ts'
import { closingTurn, finalStepOf, isUsedUp, withFewerTools } from './final-turn.ts'
import { permit, type Permission } from './guard.ts'
import { callHook } from './hooks.ts'
import { largestParts } from './largest-parts.ts'
import { withoutForeignSeals } from './foreign-seals.ts'
import { withNative } from './native.ts'
import { lowerOutput } from './output-reserve.ts'
import { priceGate } from './price-gate.ts'
import { keepAlive } from './retention.ts'
import { settleStanding } from './settle-standing.ts'
import type { Standing } from './standing.ts'
import { squeezeNew } from './squeeze-new.ts'
import { epochsInARow, isOverheadHigh, MOST_IN_A_ROW } from './breaker.ts'
import { isHigh, lowWater, messagesOf, messagesSinceSummary } from './water.ts'

export interface PrepareRequest {
  readonly format: string
  /** The request's text (byte-exact) or an object. */
  readonly body: string | object
  readonly targets?: readonly Target[]
  /** Model calls still to come, for weighing an epoch's price. @default max(5, half the calls so far) */
  readonly expectedCalls?: number
  /** Sends one more request to the model at hand: policies with summaries in band need it. */
  readonly send?: SendToModel
  /** The body as its codec decoded it, when the caller had to look into it already. */
  readonly conversation?: Conversation
  /** `meanwhile`: a request about which nothing new was decided is archived together with its answer. @default 'before' */
  readonly archive?: 'before' | 'meanwhile'
}

export interface PreparedTurn {
  readonly id: string
  /** Ready to send, in the wire it came in. An object came in → an object goes out. */
  readonly body: string | object
  /** The same as text. */
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  readonly verdict: Verdict
  readonly load: Load
  readonly limit: Limit
  readonly edits: Plan
  readonly epoch?: string
  readonly report: PrepareReport
}

export interface PrepareReport {
  /** True when the bytes that leave are the bytes that came in. */
  readonly untouched: boolean
  /** Of the transcript as it came, before anything that stands was applied. */
  readonly loadOriginal: number
  readonly loadBefore: number
  readonly loadAfter: number
  readonly newEpoch?: { readonly id: string; readonly forced: boolean; readonly covered: number }
  readonly shortened: readonly { readonly itemId: string; readonly handle: string; readonly originalBytes: number }[]
  /** Above low water although a reduction ran; no error. */
  readonly tight: boolean
}

/** decode → standing edits → first-send edits → measure → epoch if needed → validate → log → encode. */
export async function prepare(deps: EngineDeps, branch: Branch, request: PrepareRequest): Promise<PreparedTurn> {
  const opened = openContext(deps, branch, request)
  await deps.loadTokenizer?.(opened.target.model)
  const { items } = opened.conversation
  const { standing: found, moved } = await settleStanding(opened)
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
  const asked = viewOf(opened, shown)
  noteHighWater(opened, asked)
  const roomier = branch.compactRequested ? undefined : withLessOutput(opened, asked)
  const context = roomier ?? opened
  const before = roomier === undefined ? asked : viewOf(roomier, shown)
  let decided: Decided = { standing: moved === undefined ? found : withoutEpoch(found), edits: intake }
  let logged: Promise<void> | undefined
  const log = (): Promise<void> => (logged ??= logRequest(context, decided))
  const ready = branch.compactRequested ? undefined : await takeSummary(context, shown, before, log)
  const isReduced = ready === undefined && roomier === undefined && needsEpoch(context, shown, before)
  const reduced = isReduced ? await reduce(context, shown, before, log) : undefined
  const declared = ready ?? reduced?.declared
  const squeezed =
    declared === undefined && isOver(before.load, context.limit) && deps.policy.asDesigned !== true
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
  for (const line of debugLines(context, leaving, closing?.verdict.kind ?? 'proceed')) context.emit(line)
  // Caution alone refuses nothing: a guess about an unknown tokenizer may cost an epoch, not the request.
  if (isOver(leaving.estimate, context.limit) && deps.policy.asDesigned !== true)
    throw tooLarge(context, reduced?.smallest ?? leaving)
  const permitted = await permit(context, leaving, closing?.verdict)
  const permission: Permission = { ...permitted, view: dressed(context, permitted.view) }
  try {
    if (permission.view.text !== context.text) validate(context, permission.view.text)
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

/** Above the limit always; above high water only when enough has come in since the last epoch to make another worth it. */
function needsEpoch(context: PrepareContext, standing: Standing, { load, conversation }: View): boolean {
  const { deps, branch, limit } = context
  if (branch.compactRequested) return true
  if (deps.policy.asDesigned !== true && epochsInARow(context, standing.epoch) >= MOST_IN_A_ROW) return false
  if (isOver(load, limit)) return true
  if (isWriting(branch)) return false
  const { policy } = deps
  if (hasManyMessages(context, standing, conversation)) return true
  if (!isHigh(policy, limit, load, branch.cacheIsWarm)) return false
  const { rest } = policy.water
  return rest === 0 || load.count.high - (standing.epoch?.after ?? 0) >= rest * limit.tokens
}

/** A window of messages is full, and a tenth of it has come in since the last epoch. */
function hasManyMessages({ deps, links }: PrepareContext, { epoch }: Standing, view: Conversation): boolean {
  const { messages, messagesSince = 'start' } = deps.policy.water
  if (messages === undefined) return false
  const count = messagesSince === 'start' ? messagesOf(view.items) : messagesSinceSummary(view.items)
  if (count < messages) return false
  return links.length - (epoch?.count ?? 0) >= messages * 0.1
}

async function keepMoved({ deps, branch }: PrepareContext, moved: Epoch, { load }: View): Promise<void> {
  const { epoch } = await deps.sessions.claimEpoch(branch.tenant, branch.session, { ...moved, after: load.count.high })
  branch.epoch = epoch
}

/** Makes an epoch; where none makes the request fit, the smallest view that was found. */
async function reduce(
  context: PrepareContext,
  standing: Standing,
  before: View,
  log: () => Promise<void>,
): Promise<{ readonly declared?: DeclaredEpoch; readonly smallest?: View } | undefined> {
  const { branch, limit } = context
  const forced = isOver(before.load, limit)
  // Whoever has to fit now does not wait for a summary that another call has started.
  const modelFree = isWriting(branch) || isOverheadHigh(context)
  dropSummary(branch)
  const why = forced ? 'overflow' : branch.compactRequested ? 'requested' : 'high-water'
  const wish = await askBeforeEpoch(context, before, why)
  if (wish === undefined) return undefined
  const requested = branch.compactRequested ? (branch.compactRequest ?? {}) : undefined
  const gate = forced || requested !== undefined ? undefined : priceGate(context, before)
  const epoch = await declareEpoch(context, standing, {
    ...(gate !== undefined && { accepts: (planned) => gate.accepts(planned) }),
    forced,
    loadBefore: before.load.count.high,
    bytesBefore: before.load.bytes,
    before,
    modelFree,
    ...(requested !== undefined && { requested }),
    preserve: wish.preserve,
    alongside: log,
  })
  branch.compactRequested = false
  delete branch.compactRequest
  if ('nothing' in epoch) {
    if (requested !== undefined) branch.compactOutcome = epoch.nothing
    return epoch.view === undefined ? undefined : { smallest: epoch.view }
  }
  const price = gate?.quote()
  const about = { forced, ...(price !== undefined && { price }) }
  return { declared: await announceEpoch(context, standing, before, epoch, { why, ...about }) }
}

/** A rule that the client's own bytes already broke is the provider's to report; one that we broke must not leave. */
function validate({ codec, text, target }: PrepareContext, outgoing: string): void {
  const broken = codec.check(JSON.parse(outgoing), { model: target.model })
  if (broken.length === 0) return
  const before = new Set(codec.check(JSON.parse(text), { model: target.model }).map((violation) => violation.rule))
  const ours = broken.find((violation) => !before.has(violation.rule))
  if (ours === undefined) return
  throw new PlimsollError(
    'invalid-request',
    `The reduced request breaks ${ours.rule} at ${ours.path}: ${ours.message}`,
    {
      advice: 'This is a defect of Plimsoll; the original request was not changed.',
      fields: { violations: broken },
    },
  )
}

function tooLarge({ deps, gauge, limit }: PrepareContext, { conversation, load }: View): PlimsollError {
  const parts = largestParts(conversation, (item) => deps.meter.countItem(gauge, item).tokens)
  const named = parts.map((part) => `${part.what} (${part.tokens.toLocaleString('en')})`).join(', ')
  const needed = Math.ceil(load.count.high)
  return new PlimsollError(
    'fixed-overhead',
    `The context needs ${needed.toLocaleString('en')} tokens and ${limit.tokens.toLocaleString('en')} fit, although everything ` +
      `that may be reduced was. Largest parts: ${named}.`,
    {
      advice:
        'Shorten the instructions or tools, unpin items, lower the output reserve, or choose a model with a larger window.',
      fields: { needed, limit: limit.tokens, window: limit.window, bytes: load.bytes, parts },
    },
  )
}

interface Outcome {
  readonly before: View
  readonly permission: Permission
  readonly newEdits: readonly NewEdit[]
  readonly epoch: Epoch | undefined
  readonly standing: Standing
  /** The standing epoch had to be moved, and was recorded anew. */
  readonly moved: boolean
  readonly unwritten: Unwritten | undefined
}

function finish(context: PrepareContext, request: PrepareRequest, outcome: Outcome): PreparedTurn {
  const { deps, branch, conversation, links, target, gauge, limit, emit } = context
  const { before, newEdits, epoch, permission } = outcome
  const { view, verdict } = permission
  const epochId = epoch?.id ?? outcome.standing.epoch?.id
  const { high } = view.load.count
  const id = openTurn(context, request.format, permission, epochId, outcome.unwritten)
  for (const link of links.slice(context.known.links)) branch.sent.add(link.chain)
  branch.request = { items: conversation.items, links }
  // An epoch of this request is found by the next one, like any other.
  if (epoch === undefined && !outcome.moved) {
    branch.trail = { ...branch.request, epochs: outcome.standing.epochs, firstSend: outcome.standing.firstSend }
  } else delete branch.trail
  if (epoch === undefined && branch.load !== undefined && branch.model === target.model) {
    branch.growth = [...branch.growth.slice(-9), high - branch.load.count.high]
  }
  branch.model = target.model
  branch.load = view.load
  branch.readers = context.readers
  branch.limit = limit
  branch.toolUse = toolUseOf(context, outcome.standing)
  const tight = epoch !== undefined && high > lowWater(deps.policy, limit)
  if (verdict.kind !== 'proceed') emit({ type: 'verdict-given', verdict })
  if (high > deps.policy.water.warn * limit.tokens) emit({ type: 'context-warning', load: high, limit: limit.tokens })
  emit({
    type: 'request-prepared',
    load: high,
    limit: limit.tokens,
    bytes: view.load.bytes,
    verdict: verdict.kind,
    edits: view.plan.length,
    tight,
  })
  return {
    id,
    body: typeof request.body === 'string' ? view.text : (JSON.parse(view.text) as object),
    text: view.text,
    headers: view.headers,
    verdict,
    load: view.load,
    limit,
    edits: view.plan,
    ...(epochId !== undefined && { epoch: epochId }),
    report: {
      untouched: view.text === context.text,
      loadOriginal: view.plan.length === 0 ? high : deps.meter.measure(gauge, conversation, 0).count.high,
      loadBefore: before.load.count.high,
      loadAfter: high,
      ...(epoch !== undefined && { newEpoch: { id: epoch.id, forced: epoch.forced, covered: epoch.count } }),
      shortened: newEdits.map((edit) => ({
        itemId: conversation.items[edit.index]!.id,
        handle: edit.record.handle,
        originalBytes: Buffer.byteLength(edit.original),
      })),
      tight,
    },
  }
}

function openTurn(
  { deps, branch, target, links, limit }: PrepareContext,
  format: string,
  permission: Permission,
  epoch: string | undefined,
  unwritten: Outcome['unwritten'],
): string {
  const id = `turn-${++branch.turnCount}`
  // A halted request is never sent, so there is nothing to record about it.
  if (permission.verdict.kind === 'halt') return id
  const { measurement, conversation } = permission.view
  branch.turns.set(id, {
    id,
    model: target.model,
    format,
    limit,
    estimated: measurement.raw.tokens,
    measured: {
      chain: links.at(-1)?.chain ?? '',
      items: conversation.items.length,
      standing: measurement.parts.head + measurement.parts.tools,
      byClass: measurement.byClass,
    },
    startedAt: deps.clock.now(),
    ...(permission.reservation !== undefined && { reservation: permission.reservation }),
    ...(target.endpoint !== undefined && { endpoint: target.endpoint }),
    ...(epoch !== undefined && { epoch }),
    ...(unwritten !== undefined && { unwritten }),
  })
  return id
}
