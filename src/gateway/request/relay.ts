import type { ModelResponse } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { Framing } from '../../formats/framing.ts'
import { wireOf } from '../../formats/registry.ts'
import type { Writable } from '../../util/writable.ts'
import { isForeign } from '../upstream/cross-wire.ts'
import { close, deliver, type Sent } from './deliver.ts'
import type { Place, Reply, Rewrite, Tap, UpstreamAnswer } from '../exchange-types.ts'
import { isEncoded, isReadable } from '../http/encoding.ts'
import { fit, type Attempt } from './fit.ts'
import { reportHeaders } from '../headers.ts'
import type { HiddenNext } from '../hidden/index.ts'
import { hiddenTap } from '../hidden/tap.ts'
import { hiddenWhole } from '../hidden/whole.ts'
import type { ManagedRequest } from './managed-request.ts'
import { observeResponse } from './observe.ts'
import { recorded, type When } from './record-answer.ts'
import { localAnswer } from './local-answer.ts'

type Relayed<B> = Extract<Reply<B>, { kind: 'relay' }>

export async function relayed<B>(managed: ManagedRequest<B>, sent: Sent<B>, startedAt: number): Promise<Reply<B>> {
  const { answer, attempt, errorBody, refusal, recovered } = sent
  const { prepared, place } = attempt
  const { sessionId: session, agent, mode, hidden } = managed
  const reply: Writable<Relayed<B>> = {
    kind: 'relay',
    from: answer,
    headers: reportHeaders({
      session,
      prepared,
      mode,
      recovered,
      costUsd: managed.costUsd(),
      wire: isForeign(place, managed.route) ? place.wire : undefined,
    }),
    turn: { session, agent, prepared, recovered, place },
  }
  const finished = (): void =>
    managed.emit({ type: 'request-forwarded', status: answer.status, durationMs: managed.now() - startedAt })
  if (refusal !== undefined) {
    await close(managed, attempt, answer)
    finished()
    if (errorBody !== undefined) reply.body = errorBody
    return reply
  }
  if (hidden === undefined) {
    reply.tap = plainTap(managed, sent, finished)
    return reply
  }
  let current = attempt
  const steps = {
    codec: managed.codec,
    hidden,
    finished,
    isShared: managed.isShared,
    recorded: (read: () => ModelResponse | undefined, when: When) => recorded(managed, current, read, when),
    async proceed(request: HiddenNext): Promise<UpstreamAnswer<B>> {
      const next = await goOn(managed, place, request)
      current = next.attempt
      return next.answer
    },
  }
  const { framing } = wireOf(managed.codec.format)
  if (framing.isStream(answer.header('content-type'))) {
    const encoding = answer.header('content-encoding')
    // It was asked for plain. What cannot be unpacked cannot be rewritten either, and passes as it came.
    const isRead = !isEncoded(encoding) || isReadable(encoding)
    reply.tap = isRead ? hiddenTap(steps) : plainTap(managed, sent, finished)
    if (!isEncoded(encoding) || !isRead) return reply
    reply.headers = { ...reply.headers, ...PLAIN }
    reply.from = answer.rewritten(asItIs(framing))
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
const asItIs = ({ contentType }: Framing): Rewrite => ({
  contentType,
  chunk: (bytes) => bytes,
  end: () => new Uint8Array(),
})

/** Whatever encoding the upstream chose, the body that we read is plain. */
const PLAIN = { 'content-encoding': 'identity' }

/** The request after a hidden step, to the same place and with the same care. */
async function goOn<B>(
  managed: ManagedRequest<B>,
  place: Place,
  { conversation, offer }: HiddenNext,
): Promise<Sent<B>> {
  const next = { ...managed, offer, conversation }
  const attempt = await fit(next, [place], () => true)
  const sent = attempt === undefined ? undefined : await deliver(next, attempt, () => true)
  if (sent !== undefined && sent.refusal === undefined) return sent
  if (sent !== undefined) await close(managed, sent.attempt, sent.answer)
  throw new PlimsollError(
    'upstream',
    `The provider answered ${sent?.answer.status ?? 0} after a tool of Plimsoll was called.`,
    {
      retryable: true,
    },
  )
}

function plainTap<B>(managed: ManagedRequest<B>, { answer, attempt }: Sent<B>, finished: () => void): Tap<B> {
  const contentEncoding = answer.header('content-encoding')
  const isPacked = isEncoded(contentEncoding)
  const observer = observeResponse(managed.codec, {
    contentType: answer.header('content-type') ?? '',
    contentEncoding,
  })
  return {
    chunk(bytes) {
      observer.chunk(bytes)
      return bytes
    },
    async end() {
      // Unpacking takes its time, and the next request may name this answer as soon as it is out.
      const unpacked = isPacked ? observer.end() : undefined
      if (unpacked !== undefined) await unpacked
      const settled = recorded(managed, attempt, () => unpacked ?? observer.end(), 'behind').then(finished)
      if (managed.isShared) await settled
      return { settled }
    },
  }
}

/** The policy says stop: the client's SDK gets a complete answer that says why. */
export function halted<B>(managed: ManagedRequest<B>, attempt: Attempt): Reply<B> {
  const { prepared, target, place } = attempt
  const { verdict } = prepared
  // SDKs wait and ask again; what calls under way do not need comes back when they are settled.
  if (verdict.retryable === true) {
    throw new PlimsollError('budget-exceeded', verdict.reason, {
      advice: 'Calls in progress have reserved what is left; try again when they are done.',
      retryable: true,
    })
  }
  const { sessionId: session, agent, mode, route, conversation } = managed
  return {
    kind: 'answer',
    answer: localAnswer(
      managed.codec.format,
      {
        text: `Plimsoll stopped this run before the model was called: ${verdict.reason}.`,
        model: target.model,
        id: `plimsoll_${prepared.id}`,
        nowSeconds: Math.floor(managed.now() / 1000),
        stream: route.stream ?? (conversation.settings.stream ? 'events' : false),
      },
      reportHeaders({ session, prepared, mode, recovered: false, costUsd: managed.costUsd() }),
    ),
    turn: { session, agent, prepared, recovered: false, place },
  }
}
