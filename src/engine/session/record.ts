import type { ModelResponse } from '../../core/codec.ts'
import type { CacheSeen } from '../../core/cache.ts'
import { PlimsollError } from '../../core/errors.ts'
import { costOfUsage } from '../../core/price.ts'
import type { Item } from '../../core/item.ts'
import { type Audit, RECORD_VERSION, type RequestSent, type UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import { hidesContent } from '../../core/count.ts'
import type { Trouble } from '../../meter/session/figures.ts'
import type { Durable } from '../../ports/session-store.ts'
import { cachedCall, checkedUsage, isKnownUsage, looksTruncated, savedBy, seenCache } from '../../meter/index.ts'
import type { Branch, OpenTurn } from './branch.ts'
import { cutEvidence, teach } from '../learning/calibrations.ts'
import { callRecord, settleCall, tellCall, tellRefused } from '../spending/calls.ts'
import { codecFor, type EngineDeps } from '../deps.ts'
import { appendTo } from './log.ts'
import type { PrepareContext } from '../prepare/context.ts'
import { type HandedOut, issuerKey } from './branch-log.ts'

export interface RecordRequest {
  /** The turn's id, as `prepare` returned it. */
  readonly turn: string
  readonly format?: string
  /** The provider's response: a parsed body, or the result of a stream reducer. */
  readonly response?: unknown
  /** The response, when a codec has read it already. */
  readonly answer?: ModelResponse
  readonly usage?: Usage
  /** The provider refused or never answered: the turn is closed without usage. */
  readonly refused?: boolean
  /** The HTTP status of a refusal, if any: for telemetry and logs. */
  readonly status?: number
  /** Prompt tokens that the provider counted in a request that it refused as too long, or must have counted. */
  readonly counted?: number
  /**
   * `soon`: returns without waiting for the disk. The entry survives a kill of the process, but a power cut in the next moment may lose it; the next
   * decision, which is always flushed before its request leaves, flushes it too. `batched`: the same, and waits a few milliseconds where several
   * entries can share a commit. @default 'flushed'
   */
  readonly durable?: Durable
}

export interface RecordedTurn {
  readonly usage?: Usage
  readonly costUsd?: number
  /** The window that the server seems to have, when repeated counts show that it silently drops the front of prompts. */
  readonly truncatedTo?: number
}

/** normalise usage → calibrate → cost → budgets → log. Missing usage is not zero usage. */
export async function record(deps: EngineDeps, branch: Branch, request: RecordRequest): Promise<RecordedTurn> {
  // An unknown format leaves the turn open.
  if (request.format !== undefined) codecFor(deps, request.format)
  const turn = closed(branch, request.turn)
  const { model, measured, endpoint, epoch, limit, thresholds, estimated } = turn
  const { durable = 'flushed' } = request
  if (request.refused === true) {
    const { id, startedAt } = turn
    const durationMs = Math.max(0, deps.clock.now() - startedAt)
    tellRefused(deps, branch, { by: 'provider', model, turn: id, durationMs, status: request.status })
    if (request.counted !== undefined) branch.sizes.refused(measured.chain, request.counted - turn.count.tokens)
    const counted =
      request.counted === undefined ? '' : `; it counted ${request.counted.toLocaleString('en-US')} tokens`
    const failed = troubleRecord(deps, branch, 'call-failed', `${answerOf(request.status)}${counted}`)
    await takeBack(deps, branch, turn, durable, [failed])
    return {}
  }
  const unwritten = turn.unwritten === undefined ? [] : await turn.unwritten.records()
  const answer =
    request.answer ??
    (request.response === undefined
      ? undefined
      : codecFor(deps, request.format ?? turn.format).readResponse(request.response))
  const usage = checkedUsage(request.usage ?? answer?.usage)
  const isCut = answer?.stop === 'length' && turn.askedOutput !== undefined
  branch.cutAnswer = isCut ? turn.askedOutput! : 0
  if (isCut) warnOfCut(deps, branch, turn)
  if (isKnownUsage(usage)) {
    branch.sizes.answered(turn.suspects, usage.input - turn.count.tokens)
    branch.sizes.inLast = turn.missed
  }
  const isSealed = answer?.items.some(({ seal }) => seal !== undefined) === true
  const hidden = usage && isSealed ? sealedTokensIn(deps, model, answer.items, usage) : undefined
  // Vendors refuse prompts that are too long, and a window that the user set is right: neither truncates silently.
  const mayCut = !turn.refusesOverflow && limit.source !== 'config'
  const { window: truncatedTo, isSuspect } = mayCut ? truncationOf(branch, turn, usage) : { isSuspect: false }
  if (truncatedTo !== undefined) warnOfTruncation(deps, branch, turn, usage!)
  // The provider counted content that we cannot see, so its count says nothing about our text.
  const isPartial =
    measured.partial === true || answer?.ranHostedTools === true || answer?.items.some(hidesContent) === true
  // Only for chained requests: a client that resends its history shows in its next request how it uses the compaction.
  const isCompacted = turn.isChained && answer?.items.some(({ standsForPrefix }) => standsForPrefix === true) === true
  // The count of a part of the prompt is no base for counting the next request.
  const isMeasured = truncatedTo === undefined && !isCompacted
  const durationMs = deps.clock.now() - turn.startedAt
  const cache = isKnownUsage(usage) ? seenCache(deps.cacheLives, turn.cache, usage, answer?.cacheMissReason) : undefined
  const savings = savingsOf(deps, branch, turn, usage, cache)
  if (cache !== undefined)
    branch.caches.answered(
      turn.line,
      cachedCall(turn.cache, { usage: usage!, at: deps.clock.now(), removed: savings.removed, response: answer?.id }),
    )
  const entry: UsageSeen = {
    ...callRecord(deps, branch, { model, purpose: 'turn', usage, durationMs }),
    turn: turn.id,
    estimated,
    compacted: isCompacted || undefined,
    cut: truncatedTo === undefined ? undefined : true,
    measured: isMeasured
      ? { ...measured, partial: isPartial || undefined, suspect: isSuspect || undefined }
      : undefined,
    limit,
    thresholds,
    closing: turn.isClosing || undefined,
    endpoint,
    epoch,
    fetchedAgain: turn.fetchedAgain,
    hidden,
    cache,
    response: answer?.id,
    own: turn.isOwnStep,
    ...savings,
  }
  if (turn.reservation !== undefined) await settleCall(deps, turn.reservation, entry)
  tellCall(deps, branch, entry)
  if (deps.calibrations !== undefined) {
    teach(await deps.calibrations.of(branch.tenant), branch.log.measuredOn.get(issuerKey(entry)), entry)
    deps.calibrations.note(branch.tenant)
  }
  // One write for the request and its answer, so that both are durable or neither is.
  await appendTo(deps, branch, [...unwritten, entry], { durable })
  turn.unwritten?.written()
  return { usage, costUsd: entry.costUsd, truncatedTo }
}

const answerOf = (status: number | undefined): string =>
  status === undefined ? 'the provider did not answer' : `the provider answered ${status}`

/** An entry of the audit trail about a request, not about something that was removed. */
export const troubleRecord = ({ clock }: EngineDeps, { agent }: Branch, action: Trouble, reason: string): Audit => ({
  v: RECORD_VERSION,
  at: clock.now(),
  agent,
  type: 'audit',
  action,
  reason,
  originalBytes: 0,
  shownBytes: 0,
})

/** What this call had less than the client sent, in the provider's tokens, and what that is worth. */
function savingsOf(
  { catalogue }: EngineDeps,
  { log }: Branch,
  { model, endpoint, estimated, measured, notSent, isOwnStep, cache: { before }, epoch }: OpenTurn,
  usage: Usage | undefined,
  cache: CacheSeen | undefined,
): Pick<UsageSeen, 'removed' | 'savedUsd'> {
  // By all calls: what was left out is many times a prompt, and one prompt's error of counting would be multiplied as often.
  const sums = log.countedOn.get(issuerKey({ model, endpoint })) ?? { input: 0, estimated: 0 }
  const isCounted = isKnownUsage(usage) && usage.input > 0 && estimated > 0 && measured.partial !== true
  const ratio = isCounted
    ? (sums.input + usage.input) / (sums.estimated + estimated)
    : sums.input / Math.max(1, sums.estimated) || 1
  const removed = Math.round(notSent * ratio)
  if (!isKnownUsage(usage)) return { removed }
  const { price } = catalogue.resolve(model).info
  if (price === undefined) return { removed }
  const isCompacted = epoch !== undefined && epoch !== before?.epoch
  const saving = { usage, removed, removedBefore: before?.removed ?? 0, cache, isCompacted }
  return { removed, savedUsd: isOwnStep === true ? -costOfUsage(usage, price) : savedBy(saving, price) }
}

/** Closes a turn that was not sent and releases its budget reservation. */
export const discard = (deps: EngineDeps, branch: Branch, turn: string): Promise<void> =>
  takeBack(deps, branch, closed(branch, turn), 'flushed')

function closed(branch: Branch, id: string): OpenTurn {
  const turn = branch.turns.close(id)
  if (turn !== undefined) {
    branch.key = turn.key
    return turn
  }
  throw new PlimsollError('not-found', `There is no open turn ${JSON.stringify(id)} in this session.`, {
    advice: 'Each turn can be recorded once, with the id that prepare returned.',
  })
}

async function takeBack(
  deps: EngineDeps,
  branch: Branch,
  turn: OpenTurn,
  durable: Durable,
  also: readonly Audit[] = [],
): Promise<void> {
  const unwritten = [...((await turn.unwritten?.records()) ?? []), ...also]
  if (turn.reservation !== undefined) await deps.budgets?.release(turn.reservation)
  const { model, endpoint, limit } = turn
  const { chain } = turn.measured
  const sent = branch.log.handedOut.get(chain)
  // What the log says about a request that was handed out and got no answer is taken back.
  const isTakenBack = sent !== undefined && !sent.isAnswered
  const refusal = sentRecord(deps, branch, { chain, model, endpoint, limit: limit.tokens, refused: true })
  const records = isTakenBack ? [...unwritten, refusal] : unwritten
  if (records.length > 0) await appendTo(deps, branch, records, { durable })
  turn.unwritten?.written()
}

/** The window of a server that cuts prompts, on evidence, and whether this count alone looks like one. */
function truncationOf(
  { log }: Branch,
  { count, estimated, epoch }: OpenTurn,
  usage: Usage | undefined,
): { readonly window?: number; readonly isSuspect: boolean } {
  if (!isKnownUsage(usage)) return { isSuspect: false }
  const { window } = cutEvidence(log.counted, { usage, estimated, epoch })
  const isSuspect = looksTruncated({ count }, usage)
  return { isSuspect, window }
}

function warnOfCut(deps: EngineDeps, branch: Branch, { id, model, askedOutput }: OpenTurn): void {
  const { tenant, session, agent } = branch
  const message =
    `An answer of ${model} ended at the output cap that was lowered to fit beside its prompt; ${askedOutput!.toLocaleString('en')} tokens were ` +
    'asked for. The next request leaves room for them.'
  deps.emit({ type: 'warning', topic: 'output-cut', message, at: deps.clock.now(), tenant, session, agent, turn: id })
}

function warnOfTruncation(deps: EngineDeps, branch: Branch, turn: OpenTurn, { input }: Usage): void {
  const { tenant, session, agent } = branch
  const message =
    `${turn.model} reports a prompt of ${input.toLocaleString('en')} tokens; at least ${Math.floor(turn.count.low).toLocaleString('en')} were ` +
    'sent. The server seems to drop the front of the prompt, instructions first. Raise its context length, or name the real window.'
  const about = { at: deps.clock.now(), tenant, session, agent, turn: turn.id }
  deps.emit({ type: 'warning', topic: 'silent-truncation', message, ...about })
}

/**
 * How the same request was sent before to the same model, under the same epoch and a limit that was not larger. It is then sent unchanged: a process
 * that has just started may count differently and must not rewrite it for that.
 */
export function sentBefore(
  { branch, links, target, limit }: PrepareContext,
  epoch: string | undefined,
): HandedOut | undefined {
  const before = branch.log.handedOut.get(links.at(-1)?.chain ?? '')
  if (before?.limitTokens === undefined || before.limitTokens > limit.tokens) return undefined
  const isSameTarget = before.model === target.model && before.endpoint === target.endpoint
  return isSameTarget && before.epoch === epoch ? before : undefined
}

/** The log entry about sending a request; none when the log has the same one already. */
export function sentRecords(context: PrepareContext, epoch: string | undefined, isClosing: boolean): RequestSent[] {
  const { deps, branch, links, target, limit } = context
  const before = sentBefore(context, epoch)
  if (before !== undefined && before.limitTokens === limit.tokens && before.isClosing === isClosing) return []
  const { model, endpoint } = target
  const chain = links.at(-1)?.chain ?? ''
  const closing = isClosing || undefined
  return [sentRecord(deps, branch, { chain, model, endpoint, epoch, limit: limit.tokens, closing })]
}

const sentRecord = (
  { clock }: EngineDeps,
  { agent }: Branch,
  about: Omit<RequestSent, 'v' | 'at' | 'agent' | 'type'>,
): RequestSent => ({ v: RECORD_VERSION, at: clock.now(), agent, type: 'request-sent', ...about })

/**
 * Tokens of an answer's encrypted items, by seal. Reasoning tokens come from the provider's usage, shared by the length of the ciphertexts; a
 * compaction gets the output tokens that no readable item accounts for.
 */
function sealedTokensIn(
  { meter }: EngineDeps,
  model: string,
  items: readonly Item[],
  usage: Usage,
): Readonly<Record<string, number>> | undefined {
  const sealed = items.filter(({ seal }) => seal !== undefined)
  const thoughts = sealed.filter(({ kind }) => kind === 'reasoning')
  const compactions = sealed.filter(({ standsForPrefix }) => standsForPrefix === true)
  const readable = items.filter(({ kind, seal }) => seal === undefined && kind !== 'reasoning')
  const shown = readable.reduce((sum, item) => sum + meter.countItem({ model, estimated: true }, item).tokens, 0)
  const rest = usage.output - usage.reasoning - shown
  const shares = [...sharesOf(thoughts, usage.reasoning), ...sharesOf(compactions, rest)]
  return shares.length === 0 ? undefined : Object.fromEntries(shares)
}

function sharesOf(items: readonly Item[], tokens: number): (readonly [string, number])[] {
  // Zero may only mean that the provider did not report reasoning tokens.
  if (tokens <= 0) return []
  const all = items.reduce((sum, { sealedCharacters = 0 }) => sum + sealedCharacters, 0)
  return items.map(({ seal, sealedCharacters = 0 }) => [seal!, Math.round((tokens * sealedCharacters) / all)])
}
