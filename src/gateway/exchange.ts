import type { ModelResponse } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import type { Receipt, ReceiptCounts } from '../core/records.ts'
import type { PreparedTurn } from '../engine/prepare/prepare.ts'
import type { Verdict } from '../core/target.ts'
import { nextRound } from '../util/yield-now.ts'
import { localAnswer } from './answer.ts'
import { closeTurn, deliver, fit, goOn, learn, type Attempt, type Sent } from './attempt.ts'
import { toClient } from './http/headers.ts'
import { hiddenStream, hiddenWhole } from './hidden/answers.ts'
import type { HiddenNext } from './hidden/session.ts'
import { isEncoded } from './http/encoding.ts'
import { linksOf, type GatewayDeps, type OpenedRequest } from './open.ts'
import { observeResponse, type Headers, type UpstreamAnswer } from './read-answer.ts'
import type { Reply, Upstream, When } from './types.ts'
import { cannotCross, isForeign, obstaclesOf } from './cross-wire.ts'

/** prepare → send → recover an overflow once, or move to the next upstream → forward the answer while reading it. */
export async function exchange(deps: GatewayDeps, request: OpenedRequest): Promise<Reply> {
  const startedAt = deps.clock.now()
  const { route, conversation } = request
  /** With the reasons why the request cannot be converted to the upstream's wire; none if it is the client's. */
  const candidates = request.incoming.upstreams.map((upstream, at) => ({
    upstream,
    at,
    obstacles: isForeign(upstream, route) ? obstaclesOf({ upstream, route, conversation }) : [],
  }))
  let refusal: PlimsollError | undefined
  for (let at = 0; at < candidates.length; at++) {
    const { upstream, obstacles } = candidates[at]!
    if (obstacles.length > 0) {
      refusal ??= cannotCross(upstream, obstacles)
      request.emit({ type: 'verdict-given', verdict: skipped(upstream, refusal.message) })
      continue
    }
    const left = candidates.slice(at).filter((one) => one.obstacles.length === 0)
    const attempt = await fit(
      deps,
      request,
      left.map((one) => one.upstream),
    )
    if (attempt === undefined) continue
    // Earlier upstreams were skipped because this one has more room.
    const { chosen, verdict } = attempt.prepared
    at = left[chosen]?.at ?? at
    // In observe mode it is only reported.
    if (verdict.kind === 'halt' && request.mode === 'apply') return halted(deps, request, attempt)
    const sent = await deliver(deps, request, attempt, chosen >= left.length - 1)
    if (sent !== undefined) return await relayed(deps, request, sent, startedAt)
  }
  throw refusal ?? new PlimsollError('upstream', 'No upstream took the request.', { retryable: true })
}

const skipped = ({ endpoint, model = '' }: Upstream, reason: string): Verdict => ({
  kind: 'skip',
  target: { model, endpoint },
  reason,
  projected: 0,
  limit: 0,
  margin: 0,
})

/** An upstream's answer as a reply to the client. */
export const relayOf = (
  { status, statusText, headers, body }: UpstreamAnswer,
  own: Headers,
  changed: Reply['body'] = body,
): Reply => ({ status, statusText, headers: toClient(headers, own), body: changed })

/** Forwards the answer while it is read. */
async function relayed(deps: GatewayDeps, request: OpenedRequest, sent: Sent, startedAt: number): Promise<Reply> {
  const { answer, attempt, errorBody, refusal, recovered } = sent
  const { prepared, upstream } = attempt
  const { mode, hidden, wire, route, emit } = request
  const { session, agent, tenant } = request.owner
  const own = reportHeaders(session, prepared, mode, {
    recovered,
    costUsd: deps.ledger.costOf(tenant, session),
    wire: isForeign(upstream, route) ? upstream.wire : undefined,
  })
  const turn = { session, agent, prepared, recovered, upstream }
  const finished = (): void =>
    emit({ type: 'request-forwarded', status: answer.status, durationMs: deps.clock.now() - startedAt })
  if (refusal !== undefined) {
    await closeTurn(request, attempt, answer)
    finished()
    return { ...relayOf(answer, own, errorBody), turn }
  }
  let last = Promise.resolve()
  const settled = (): Promise<void> => last
  const isStream = wire.framing.isStream(answer.header('content-type'))
  // An answer that cannot be decoded is forwarded unchanged.
  if (hidden === undefined || isEncoded(answer.header('content-encoding'))) {
    const body = readAlong(deps, request, sent, (recorded) => (last = recorded.then(finished)))
    return { ...relayOf(answer, own, body), settled, turn }
  }
  let current = attempt
  const steps = {
    wire,
    hidden,
    isShared: deps.isShared,
    settled: (recorded: Promise<void>) => void (last = isStream ? recorded.then(finished) : recorded),
    recorded: (read: () => ModelResponse | undefined, when: When) =>
      recorded(deps, request, current, read, when, current === attempt && sent.isRecorded),
    async proceed({ conversation, offer }: HiddenNext): Promise<UpstreamAnswer> {
      const links = linksOf(deps, conversation)
      const next = await goOn(deps, { ...request, conversation, links, offer }, upstream)
      current = next.attempt
      return next.answer
    },
  }
  const body = isStream ? hiddenStream(steps, answer) : await hiddenWhole(steps, answer)
  if (!isStream) last = last.then(finished)
  // The rewritten body has another length.
  const changes = body === undefined ? own : { ...own, 'content-length': undefined }
  return { ...relayOf(answer, changes, body), settled, turn }
}

/** Forwards the original bytes while they are read. */
async function* readAlong(
  deps: GatewayDeps,
  request: OpenedRequest,
  { answer, attempt, isRecorded }: Sent,
  settled: (recorded: Promise<void>) => void,
): AsyncGenerator<Uint8Array> {
  const observer = observeResponse(request.wire, answer)
  try {
    for await (const bytes of answer.body) {
      observer.chunk(bytes)
      yield bytes
    }
  } finally {
    const done = recorded(deps, request, attempt, () => observer.end(), 'behind', isRecorded)
    settled(done)
    if (deps.isShared) await done
  }
}

/** @param read returns the parsed answer; called when it is recorded. */
async function recorded(
  deps: GatewayDeps,
  request: OpenedRequest,
  attempt: Attempt,
  read: () => ModelResponse | undefined,
  when: When,
  isRecorded = false,
): Promise<void> {
  // If other processes serve the same sessions, the answer ends after it is recorded.
  if (when === 'behind' && !deps.isShared) await nextRound()
  // Best effort: the client gets its answer even if it cannot be recorded.
  try {
    const answer = read()
    if (isRecorded) return await answered(deps, request, answer)
    const turn = { turn: attempt.prepared.id, durable: 'soon' as const, answer }
    // In parallel, so that the store can write both with one commit.
    const [{ truncatedTo }] = await Promise.all([request.session.record(turn), answered(deps, request, answer)])
    const { target, prepared } = attempt
    if (truncatedTo !== undefined) {
      if (request.mode === 'apply') await learn(deps, request, attempt, { window: truncatedTo }, 'silent-truncation')
    } else if (answer !== undefined && answer.stop !== 'error') {
      // The window is at least as large as a prompt that the endpoint accepted.
      const at = { tenant: request.owner.tenant, endpoint: target.endpoint ?? '', model: target.model }
      await deps.learned.accepted(at, { bytes: prepared.load.bytes, tokens: answer.usage?.input })
    }
  } catch (error) {
    request.emit({ type: 'warning', topic: 'record', message: (error as Error).message })
    request.visit?.failed()
  }
}

/** Stores what the next request of the conversation is recognised by; `response` is undefined if the answer could not be read. */
async function answered(
  { responses }: GatewayDeps,
  { visit, wire, owner, providerHistory }: OpenedRequest,
  response: ModelResponse | undefined,
): Promise<void> {
  if (response === undefined) return visit?.failed()
  const { id, items } = response
  await visit?.answered(items)
  if (!wire.codec.traits.keepsAnswers || id === undefined) return
  const { tenant, session, agent } = owner
  await responses.remember(tenant, id, { session, agent })
  await providerHistory?.answered(id, response)
}

/** The policy says stop: the client's SDK gets a complete answer that says why. */
function halted(deps: GatewayDeps, request: OpenedRequest, { prepared, target, upstream }: Attempt): Reply {
  const { verdict } = prepared
  // SDKs wait and retry; unused reservations of calls in progress are returned when these are settled.
  if (verdict.retryable === true) {
    throw new PlimsollError('budget-exceeded', `${verdict.reason}.`, {
      advice: 'Calls in progress have reserved what is left; try again when they are done.',
      retryable: true,
    })
  }
  const { owner, mode, route, conversation } = request
  const { tenant, session, agent } = owner
  const costUsd = deps.ledger.costOf(tenant, session)
  request.visit?.failed()
  return {
    ...localAnswer(
      request.wire,
      {
        text: `Plimsoll stopped this run before the model was called: ${verdict.reason}.`,
        model: target.model,
        id: `plimsoll_${prepared.id}`,
        nowSeconds: Math.floor(deps.clock.now() / 1000),
        stream: route.stream ?? (conversation.settings.stream ? 'events' : false),
      },
      reportHeaders(session, prepared, mode, { recovered: false, costUsd }),
    ),
    turn: { session, agent, prepared, recovered: false, upstream },
  }
}

interface AnswerFacts {
  readonly recovered: boolean
  /** The session's cost before this request in US dollars, if prices are known. */
  readonly costUsd?: number
  /** The upstream's wire, if it is not the client's. */
  readonly wire?: string
}

/** Counts of each kind, as `demands=12/3/0/1`: in view, behind a tool of the request, missing, in view though replaced. */
const receiptHeader = (receipt: Receipt): string =>
  Object.entries(receipt)
    .map(
      ([kind, { retained, recoverable, missing, stale }]: [string, ReceiptCounts]) =>
        `${kind}=${retained}/${recoverable}/${missing}/${stale}`,
    )
    .join('; ')

/** The headers of every managed answer. Their values contain no content. */
function reportHeaders(
  session: string,
  prepared: PreparedTurn,
  mode: OpenedRequest['mode'],
  { recovered, costUsd, wire }: AnswerFacts,
): Record<string, string> {
  const { load, limit, verdict, epoch, report } = prepared
  const headers: Record<string, string> = {
    'x-plimsoll-session': encodeURIComponent(session),
    'x-plimsoll-load': String(Math.ceil(load.count.high)),
    'x-plimsoll-limit': String(limit.tokens),
    'x-plimsoll-verdict': verdict.kind,
    'x-plimsoll-saved': String(Math.max(0, Math.round(report.loadOriginal - report.loadAfter))),
  }
  if (epoch !== undefined) headers['x-plimsoll-epoch'] = epoch
  const { receipt } = report.newEpoch ?? {}
  if (receipt !== undefined) headers['x-plimsoll-receipt'] = receiptHeader(receipt)
  if (costUsd !== undefined) headers['x-plimsoll-cost'] = costUsd.toFixed(6)
  if (wire !== undefined) headers['x-plimsoll-wire'] = wire
  if (recovered) headers['x-plimsoll-recovered'] = 'overflow'
  if (mode === 'observe') {
    headers['x-plimsoll-mode'] = 'observe'
    headers['x-plimsoll-would'] = wouldDo(prepared)
  }
  return headers
}

function wouldDo({ report, verdict }: PreparedTurn): string {
  const deeds = [
    ...(verdict.kind === 'halt' || verdict.kind === 'final' ? [verdict.kind] : []),
    ...(report.newEpoch === undefined ? [] : ['epoch']),
    ...(report.shortened.length === 0 ? [] : ['shorten']),
    ...(report.untouched ? [] : ['rewrite']),
  ]
  return deeds.length === 0 ? 'nothing' : deeds.join(', ')
}
