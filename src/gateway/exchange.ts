import type { ModelResponse } from '../core/codec.ts'
import { PlimsollError } from '../core/errors.ts'
import type { Verdict } from '../core/target.ts'
import type { Framing } from '../formats/framing.ts'
import { byName } from '../formats/registry.ts'
import { nextRound } from '../util/yield-now.ts'
import type { Writable } from '../util/writable.ts'
import { localAnswer } from './answer.ts'
import { closeTurn, deliver, fit, goOn, learn, type Attempt, type Sent } from './attempt.ts'
import { reportHeaders } from './headers.ts'
import { hiddenTap, hiddenWhole } from './hidden/answers.ts'
import type { HiddenNext } from './hidden/session.ts'
import { isEncoded, isReadable } from './http/encoding.ts'
import { linksOf, type GatewayDeps, type OpenedRequest } from './open.ts'
import { observeResponse } from './read-answer.ts'
import type { Reply, Rewrite, Tap, Upstream, UpstreamAnswer, When } from './types.ts'
import { cannotCross, isForeign, obstaclesOf } from './upstream/cross-wire.ts'

/** prepare → send → recover an overflow once, or move to the next upstream → pass the answer on while reading along. */
export async function exchange<B>(deps: GatewayDeps, request: OpenedRequest<B>): Promise<Reply<B>> {
  const startedAt = deps.clock.now()
  const candidates = request.incoming.upstreams.map((upstream, at) => ({
    upstream,
    at,
    obstacles: obstaclesFor(request, upstream),
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
    // Those before it were passed over for the room that it has.
    const { chosen, verdict } = attempt.prepared
    at = left[chosen]?.at ?? at
    // Who only observes reports it.
    if (verdict.kind === 'halt' && request.mode === 'apply') return halted(deps, request, attempt)
    const sent = await deliver(deps, request, attempt, chosen >= left.length - 1)
    if (sent !== undefined) return await relayed(deps, request, sent, startedAt)
  }
  throw refusal ?? new PlimsollError('upstream', 'No upstream took the request.', { retryable: true })
}

/** What keeps this request from an upstream that speaks another wire; nothing, where the wire is the client's. */
function obstaclesFor<B>({ route, conversation }: OpenedRequest<B>, upstream: Upstream): readonly string[] {
  if (!isForeign(upstream, route)) return []
  const to = byName.get(upstream.wire)
  return to === undefined
    ? [`the unknown API format ${upstream.wire}`]
    : obstaclesOf({ to, upstream, route, conversation })
}

const skipped = ({ endpoint, model = '' }: Upstream, reason: string): Verdict => ({
  kind: 'skip',
  target: { model, endpoint },
  reason,
  projected: 0,
  limit: 0,
  margin: 0,
})

type Relayed<B> = Extract<Reply<B>, { kind: 'relay' }>

/** The answer passes on while it is read along. */
async function relayed<B>(
  deps: GatewayDeps,
  request: OpenedRequest<B>,
  sent: Sent<B>,
  startedAt: number,
): Promise<Reply<B>> {
  const { answer, attempt, errorBody, refusal, recovered } = sent
  const { prepared, upstream } = attempt
  const { owner, mode, hidden, wire, route, emit } = request
  const { session, agent } = owner
  const reply: Writable<Relayed<B>> = {
    kind: 'relay',
    from: answer,
    headers: reportHeaders({
      session,
      prepared,
      mode,
      recovered,
      costUsd: deps.ledger.costOf(owner.tenant, session),
      wire: isForeign(upstream, route) ? upstream.wire : undefined,
    }),
    turn: { session, agent, prepared, recovered, upstream },
  }
  const finished = (): void =>
    emit({ type: 'request-forwarded', status: answer.status, durationMs: deps.clock.now() - startedAt })
  if (refusal !== undefined) {
    await closeTurn(request, attempt, answer)
    finished()
    reply.body = errorBody
    return reply
  }
  if (hidden === undefined) {
    reply.tap = plainTap(deps, request, sent, finished)
    return reply
  }
  let current = attempt
  const steps = {
    wire,
    hidden,
    finished,
    isShared: deps.isShared,
    recorded: (read: () => ModelResponse | undefined, when: When) => recorded(deps, request, current, read, when),
    async proceed({ conversation, offer }: HiddenNext): Promise<UpstreamAnswer<B>> {
      const links = linksOf(deps, conversation)
      const next = await goOn(deps, { ...request, conversation, links, offer }, upstream)
      current = next.attempt
      return next.answer
    },
  }
  if (wire.framing.isStream(answer.header('content-type'))) {
    const encoding = answer.header('content-encoding')
    // It was asked for plain. What cannot be unpacked cannot be rewritten either, and passes as it came.
    const isRead = !isEncoded(encoding) || isReadable(encoding)
    reply.tap = isRead ? hiddenTap(steps) : plainTap(deps, request, sent, finished)
    if (!isEncoded(encoding) || !isRead) return reply
    reply.headers = { ...reply.headers, ...PLAIN }
    reply.from = answer.rewritten(unchanged(wire.framing))
    return reply
  }
  const { bytes, settled } = await hiddenWhole(steps, answer)
  reply.settled = settled.then(finished)
  if (bytes === undefined) return reply
  reply.headers = { ...reply.headers, ...PLAIN }
  reply.body = bytes
  return reply
}

/** The same bytes unpacked. */
const unchanged = ({ contentType }: Framing): Rewrite => ({
  contentType,
  chunk: (bytes) => bytes,
  end: () => new Uint8Array(),
})

/** Whatever encoding the upstream chose, the body that we read is plain. */
const PLAIN = { 'content-encoding': 'identity' }

function plainTap<B>(
  deps: GatewayDeps,
  request: OpenedRequest<B>,
  { answer, attempt }: Sent<B>,
  finished: () => void,
): Tap<B> {
  const contentEncoding = answer.header('content-encoding')
  const isPacked = isEncoded(contentEncoding)
  const contentType = answer.header('content-type') ?? ''
  const observer = observeResponse(request.wire, { contentType, contentEncoding })
  return {
    chunk(bytes) {
      observer.chunk(bytes)
      return bytes
    },
    async end() {
      // Unpacking takes its time, and the next request may name this answer as soon as it is out.
      const unpacked = isPacked ? observer.end() : undefined
      if (unpacked !== undefined) await unpacked
      const settled = recorded(deps, request, attempt, () => unpacked ?? observer.end(), 'behind').then(finished)
      if (deps.isShared) await settled
      return { settled }
    },
  }
}

/** @param read what the answer says, worked out when it is recorded. */
async function recorded<B>(
  deps: GatewayDeps,
  request: OpenedRequest<B>,
  attempt: Attempt,
  read: () => ModelResponse | undefined | Promise<ModelResponse | undefined>,
  when: When,
): Promise<void> {
  // Where others serve the same sessions, the answer ends when it is recorded.
  if (when === 'behind' && !deps.isShared) await nextRound()
  // Best effort: an answer that cannot be recorded is the client's all the same.
  try {
    const answer = await read()
    const turn = { turn: attempt.prepared.id, durable: 'soon' as const, answer }
    // Together, so that the store can write both with one commit.
    const [{ truncatedTo }] = await Promise.all([request.session.record(turn), answered(deps, request, answer)])
    if (truncatedTo === undefined) await noteAccepted(deps, request, attempt, answer)
    else if (request.mode === 'apply') await learn(deps, request, attempt, { window: truncatedTo }, 'silent-truncation')
  } catch (error) {
    request.emit({ type: 'warning', topic: 'record', message: (error as Error).message })
    request.visit?.failed()
  }
}

/** The conversation goes on from this answer; undefined when nothing could be made of it. */
async function answered<B>(
  { responses }: GatewayDeps,
  { visit, wire, owner, held }: OpenedRequest<B>,
  response: ModelResponse | undefined,
): Promise<void> {
  if (response === undefined) return visit?.failed()
  const { id, items } = response
  await visit?.answered(items)
  if (!wire.codec.traits.keepsAnswers || id === undefined) return
  const { tenant, session, agent } = owner
  await responses.remember(tenant, id, { session, agent })
  await held?.answered(id, response)
}

/** What an endpoint took once is never above its window. */
async function noteAccepted<B>(
  { learned }: GatewayDeps,
  { owner: { tenant } }: OpenedRequest<B>,
  { target: { endpoint = '', model }, prepared }: Attempt,
  response: ModelResponse | undefined,
): Promise<void> {
  if (response === undefined || response.stop === 'error') return
  await learned.accepted({ tenant, endpoint, model }, { bytes: prepared.load.bytes, tokens: response.usage?.input })
}

/** The policy says stop: the client's SDK gets a complete answer that says why. */
function halted<B>(deps: GatewayDeps, request: OpenedRequest<B>, { prepared, target, upstream }: Attempt): Reply<B> {
  const { verdict } = prepared
  // SDKs wait and ask again; what calls under way do not need comes back when they are settled.
  if (verdict.retryable === true) {
    throw new PlimsollError('budget-exceeded', verdict.reason, {
      advice: 'Calls in progress have reserved what is left; try again when they are done.',
      retryable: true,
    })
  }
  const { owner, mode, route, conversation } = request
  const { tenant, session, agent } = owner
  const costUsd = deps.ledger.costOf(tenant, session)
  return {
    kind: 'answer',
    answer: localAnswer(
      request.wire,
      {
        text: `Plimsoll stopped this run before the model was called: ${verdict.reason}.`,
        model: target.model,
        id: `plimsoll_${prepared.id}`,
        nowSeconds: Math.floor(deps.clock.now() / 1000),
        stream: route.stream ?? (conversation.settings.stream ? 'events' : false),
      },
      reportHeaders({ session, prepared, mode, recovered: false, costUsd }),
    ),
    turn: { session, agent, prepared, recovered: false, upstream },
  }
}
