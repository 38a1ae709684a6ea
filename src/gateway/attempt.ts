import { DOES_NOT_FIT, isPlimsollError, PlimsollError } from '../core/errors.ts'
import { modelName } from '../core/model-name.ts'
import type { LearnedLimit, Target, Verdict } from '../core/target.ts'
import { isChained, showsWholePrompt } from '../core/count.ts'
import { type LearnedFrom, lessonOf, within } from '../engine/learning/learned-limits.ts'
import type { ReadyRequest } from '../engine/prepare/prepare.ts'
import { isVendor } from '../formats/endpoints.ts'
import { classifyProviderError, type ClassifiedError } from '../formats/overflow/classify.ts'
import { byName } from '../formats/registry.ts'
import { withPathModel, type HeaderReader } from '../formats/endpoints.ts'
import { indexJson, member } from '../formats/json/json-index.ts'
import type { SendToModel } from '../ports/model-call.ts'
import { isEncoded } from './http/encoding.ts'
import type { GatewayDeps, OpenedRequest } from './open.ts'
import { observeResponse, refusalInside, type UpstreamAnswer } from './read-answer.ts'
import type { Outbound, Upstream } from './types.ts'
import { isForeign, sendAcross } from './cross-wire.ts'

/** A request that was made to fit one upstream. */
export interface Attempt {
  readonly upstream: Upstream
  readonly target: Target
  readonly prepared: ReadyRequest
}

export interface Sent {
  readonly attempt: Attempt
  readonly answer: UpstreamAnswer
  /** The refusal in the answer, by its status or its text. */
  readonly refusal?: ClassifiedError
  /** The body of an error status, which was read to classify the error; absent if it is too long. */
  readonly errorBody?: Uint8Array
  readonly recovered: boolean
  /** Its usage is in the ledger. */
  readonly isRecorded?: true
}

/** The first of these upstreams on which the request fits; undefined if it fits on none of them and others are left. */
export async function fit(
  deps: GatewayDeps,
  request: OpenedRequest,
  upstreams: readonly Upstream[],
): Promise<Attempt | undefined> {
  const { route, conversation, owner, settings } = request
  const targets: Target[] = []
  if (request.mode === 'apply') await deps.quotas.check(askingOf(request), settings.quotas ?? [])
  for (const { endpoint, provider, model: own, window = settings.window } of upstreams) {
    const model = modelName(own ?? route.model ?? conversation.settings.model ?? 'unknown')
    const learned = await deps.learned.of({ tenant: owner.tenant, endpoint, model })
    const target: Target = { model, endpoint, provider, window, learned, refusesOverflow: isVendor(endpoint) }
    const kept = deps.keptWithin.get(conversationKey(request, target))
    targets.push(kept === undefined ? target : within(target, kept))
  }
  try {
    return await attemptAt(request, upstreams, targets)
  } catch (error) {
    if (!doesNotFit(error)) throw error
    const [first] = targets
    // A learned limit may be out of date: before the request is refused because of it, the endpoint is tried without it.
    if (first?.learned !== undefined) {
      const asked = await attemptAt(request, upstreams.slice(0, 1), [{ ...first, learned: undefined }]).catch(
        (again: unknown) => {
          if (!doesNotFit(again)) throw again
          return undefined
        },
      )
      if (asked !== undefined) return asked
    }
    if (first === undefined || upstreams.length === 1) throw error
    const verdict: Verdict = { kind: 'skip', target: first, reason: error.message, ...numbersOf(error) }
    request.emit({ type: 'verdict-given', verdict })
    return undefined
  }
}

const doesNotFit = (error: unknown): error is PlimsollError => isPlimsollError(error) && DOES_NOT_FIT.has(error.code)

function numbersOf({ fields }: PlimsollError): { projected: number; limit: number; margin: number } {
  const number = (key: string): number => (typeof fields[key] === 'number' ? fields[key] : 0)
  const projected = number('needed')
  return { projected, limit: number('limit'), margin: number('limit') - projected }
}

const conversationKey = (
  { owner: { tenant, session, agent } }: OpenedRequest,
  { endpoint = '', model }: Target,
): string => JSON.stringify([tenant, session, agent, endpoint, model])

/** Lets the engine make the request fit. Each target belongs to the upstream at the same index. */
async function attemptAt(
  request: OpenedRequest,
  upstreams: readonly Upstream[],
  targets: readonly Target[],
): Promise<Attempt> {
  const { wire, text, conversation, links, key, mode, route, hidden, offer, providerHistory } = request
  const prepared = await request.session.prepareRead({
    codec: wire.codec,
    text,
    conversation,
    links,
    targets,
    key,
    tools: offer,
    // An observed request makes no side requests, and an upstream of another wire has no cache of this prefix.
    sendTo: (at) =>
      mode === 'apply' && !isForeign(upstreams[at]!, route) ? sideRequest(request, upstreams[at]!) : undefined,
    writeOut: mode === 'apply' ? providerHistory?.writeOut : undefined,
    isObserved: mode === 'observe',
    isReadAlong: true,
    isOwnStep: request.isOwnStep,
  })
  if (hidden !== undefined && offer?.withheld !== true) await hidden.declared(prepared)
  return { upstream: upstreams[prepared.chosen]!, target: targets[prepared.chosen]!, prepared }
}

/** Longer bodies are not read as errors. */
const MAX_ERROR_BYTES = 1024 * 1024

/** Undefined when this upstream failed and another is left. */
export async function deliver(
  deps: GatewayDeps,
  request: OpenedRequest,
  attempt: Attempt,
  isLast: boolean,
): Promise<Sent | undefined> {
  const first = await send(deps, request, attempt, isLast)
  if (first === undefined) return undefined
  if (first.refusal === undefined) return askedAgain(deps, request, first)
  const { refusal, answer } = first
  if (isTooLarge(refusal) && request.mode === 'apply') {
    const again = await reduceAndRetry(deps, request, first, refusal)
    if (again !== undefined) {
      answer.body.discard()
      return again
    }
  }
  const mayMoveOn = isTooLarge(refusal) || isPassing(answer.status) || refusal.kind === 'throttle'
  if (!mayMoveOn || isLast) return first
  answer.body.discard()
  await closeTurn(request, attempt, answer)
  request.emit({ type: 'degraded', what: `upstream ${attempt.upstream.endpoint}`, cause: `status ${answer.status}` })
  return undefined
}

/** A longer answer was not cut by a cap of ours. */
const MAX_CUT_BYTES = 4 * 1024 * 1024

/**
 * A whole answer that ended at an output cap that we had lowered is asked for once more with room made for it; both are paid for. Where that cannot be,
 * and in streams, the client gets what there is with its wire's own reason, and the next request has room.
 */
async function askedAgain(deps: GatewayDeps, request: OpenedRequest, first: Sent): Promise<Sent> {
  const { answer, attempt } = first
  const { wire, mode, session, conversation } = request
  const isWhole = !wire.framing.isStream(answer.header('content-type')) && !isEncoded(answer.header('content-encoding'))
  const mayAsk = attempt.prepared.askedOutput !== undefined && mode === 'apply' && !isChained(conversation.settings)
  const bytes = mayAsk && isWhole ? await answer.body.whole(MAX_CUT_BYTES) : undefined
  if (bytes === undefined) return first
  const observer = observeResponse(wire, answer)
  observer.chunk(bytes)
  const cut = observer.end()
  if (cut?.stop !== 'length') return first
  await session.record({ turn: attempt.prepared.id, durable: 'soon', answer: cut })
  const shown = { ...first, isRecorded: true } as const
  try {
    const again = await send(deps, request, await attemptAt(request, [attempt.upstream], [attempt.target]), true)
    if (again === undefined) return shown
    if (again.refusal === undefined) {
      answer.body.discard()
      return again
    }
    again.answer.body.discard()
    await closeTurn(request, again.attempt, again.answer)
  } catch (error) {
    request.emit({ type: 'degraded', what: 'a cut answer', cause: (error as Error).message })
  }
  return shown
}

async function send(
  { bodies, clock, quotas }: GatewayDeps,
  request: OpenedRequest,
  attempt: Attempt,
  isLast: boolean,
): Promise<Sent | undefined> {
  const { route, wire, transport, mode, owner, emit } = request
  const { upstream, prepared } = attempt
  try {
    let answer: UpstreamAnswer
    if (isForeign(upstream, route)) {
      const text = mode === 'observe' ? request.text : prepared.text
      const { outputReserve } = prepared.limit
      answer = await sendAcross(transport, {
        from: wire,
        to: byName.get(upstream.wire)!,
        upstream,
        route,
        text,
        conversation: bodies.decode(owner.tenant, wire.codec, text),
        maxOutputTokens: outputReserve > 0 ? outputReserve : undefined,
        nowSeconds: Math.floor(clock.now() / 1000),
        emit,
      })
    } else answer = await transport(outboundOf(request, upstream, prepared))
    await quotas.take(askingOf(request), answer, emit).catch(() => undefined)
    if (answer.status < 400) {
      const refusal = mode === 'apply' ? await refusalInside(wire, answer) : undefined
      return { attempt, answer, refusal, recovered: false }
    }
    const errorBody = await answer.body.whole(MAX_ERROR_BYTES)
    const body = Buffer.from(errorBody ?? []).toString('utf8')
    const refusal = classifyProviderError({ status: answer.status, body, request: prepared.text })
    return { attempt, answer, errorBody, refusal, recovered: false }
  } catch (error) {
    await closeTurn(request, attempt)
    if (isLast) throw error
    emit({ type: 'degraded', what: `upstream ${upstream.endpoint}`, cause: (error as Error).message })
    return undefined
  }
}

const askingOf = ({ owner: { tenant, agent }, key = tenant }: OpenedRequest) => ({ tenant, agent, credential: key })

/** Statuses that are about the upstream, not the request. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

type SizeError = ClassifiedError & { readonly kind: 'overflow' | 'body-size' }
const isTooLarge = (error: ClassifiedError): error is SizeError =>
  error.kind === 'overflow' || error.kind === 'body-size'

/** Learns from the refusal, reduces and sends once more; undefined if that cannot help or did not. */
async function reduceAndRetry(
  deps: GatewayDeps,
  request: OpenedRequest,
  first: Sent,
  refusal: SizeError,
): Promise<Sent | undefined> {
  const { upstream, target, prepared } = first.attempt
  const { limit, load } = prepared
  const { learned, retry, counted } = lessonOf(refusal, {
    tokens: load.count.high,
    outputReserve: limit.outputReserve,
    bytes: load.bytes,
    limitTokens: limit.source === 'default' ? undefined : limit.tokens,
    isWhole: showsWholePrompt(request.conversation),
  })
  await closeTurn(request, first.attempt, first.answer, counted)
  if (learned !== undefined) await learn(deps, request, first.attempt, learned, 'refusal')
  if (retry === undefined) return undefined
  // A history that the provider stores cannot be reduced; if it is known here, it is sent in full instead.
  if (isChained(request.conversation.settings) && (await request.providerHistory?.writeOut()) === undefined)
    return undefined
  try {
    const attempt = await attemptAt(request, [upstream], [within(target, retry)])
    const again = await send(deps, request, attempt, true)
    if (again === undefined) return undefined
    const recovered = again.refusal === undefined
    if (recovered) {
      const key = conversationKey(request, target)
      deps.keptWithin.set(key, { ...deps.keptWithin.get(key), ...retry })
      request.emit({ type: 'overflow-recovered', window: retry.window })
      await request.session.note('overflow-recovered', lessonText(learned ?? retry)).catch(() => undefined)
    }
    return { ...again, recovered }
  } catch (error) {
    // It cannot be made smaller: the client gets the provider's error, which its own compaction may recognise.
    if (doesNotFit(error)) return undefined
    throw error
  }
}

const lessonText = ({ window, bodyBytes }: LearnedLimit): string =>
  [
    'reduced, sent again and answered',
    ...(window === undefined ? [] : [`requests stay within a window of ${window.toLocaleString('en-US')} tokens`]),
    ...(bodyBytes === undefined ? [] : [`bodies stay within ${bodyBytes.toLocaleString('en-US')} bytes`]),
  ].join('; ')

/** Nothing is learned if the user set the window. */
export async function learn(
  deps: GatewayDeps,
  { owner, emit }: OpenedRequest,
  { target: { model, endpoint = '', window }, prepared }: Attempt,
  limit: LearnedLimit,
  from: LearnedFrom,
): Promise<void> {
  const isSet = window !== undefined || prepared.limit.source === 'config'
  if (isSet && limit.window !== undefined) return
  const isLearned = await deps.learned.learn({ tenant: owner.tenant, endpoint, model }, limit, from)
  if (isLearned && limit.window !== undefined)
    emit({ type: 'window-learned', model, window: limit.window, source: endpoint })
}

/** Best effort: a turn that was never answered must not stay open. */
export const closeTurn = async (
  { session }: OpenedRequest,
  { prepared }: Attempt,
  answer?: UpstreamAnswer,
  counted?: number,
): Promise<void> => {
  const closing = { turn: prepared.id, refused: true, durable: 'soon' as const, status: answer?.status, counted }
  await session.record(closing).catch(() => undefined)
}

/** The next request after a hidden step, to the same upstream, with the same recovery. */
export async function goOn(deps: GatewayDeps, request: OpenedRequest, upstream: Upstream): Promise<Sent> {
  const own = { ...request, isOwnStep: true } as const
  const attempt = await fit(deps, own, [upstream])
  const sent = attempt === undefined ? undefined : await deliver(deps, own, attempt, true)
  if (sent !== undefined && sent.refusal === undefined) return sent
  if (sent !== undefined) await closeTurn(request, sent.attempt, sent.answer)
  throw new PlimsollError(
    'upstream',
    `The provider answered ${sent?.answer.status ?? 0} after a tool of Plimsoll was called.`,
    { retryable: true },
  )
}

/** The request to an upstream of the client's wire, with the client's path and credentials. */
function outboundOf(
  request: OpenedRequest,
  upstream: Upstream,
  prepared: Pick<ReadyRequest, 'text' | 'headers'>,
): Outbound {
  const { incoming, mode } = request
  const { model } = upstream
  const untouched = mode === 'observe' || (prepared.text === request.text && model === undefined)
  // Plain answers are requested, because they are read and may be rewritten.
  const headers: Record<string, string | undefined> = { 'accept-encoding': 'identity' }
  if (!untouched && isEncoded(incoming.header('content-encoding'))) headers['content-encoding'] = undefined
  if (mode === 'apply') Object.assign(headers, mergeHeaders(prepared.headers, incoming.header))
  return {
    upstream,
    path: pathAt(request, upstream),
    // Untouched requests leave as the bytes that came in, encoded or not.
    body: untouched
      ? incoming.body
      : Buffer.from(model === undefined ? prepared.text : withModel(prepared.text, model)),
    headers,
  }
}

/** The client's path, with the upstream's model if the path names one. */
export const pathAt = ({ incoming, route }: OpenedRequest, { model }: Upstream): string =>
  model === undefined ? incoming.path : withPathModel(incoming.path, route, model)

/** The body with another model; every other byte stays. A body without a model stays unchanged. */
export function withModel(text: string, model: string): string {
  const node = member(indexJson(text), 'model')
  return node === undefined ? text : text.slice(0, node.start) + JSON.stringify(model) + text.slice(node.end)
}

/** Adds our entry to lists such as `anthropic-beta`; the client's entries stay. */
export function mergeHeaders(needed: Readonly<Record<string, string>>, own: HeaderReader): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(needed)) {
    const entries = [...(own(name) ?? '').split(','), ...value.split(',')].map((entry) => entry.trim())
    headers[name] = [...new Set(entries.filter((entry) => entry !== ''))].join(',')
  }
  return headers
}

/** A summary is never longer. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Sends a request of ours to the client's upstream, with its path and credentials, and reads the whole answer. */
const sideRequest =
  (request: OpenedRequest, upstream: Upstream): SendToModel =>
  async ({ body, headers, signal }) => {
    const { incoming, transport, wire } = request
    const answer = await transport({
      aside: true,
      upstream,
      path: pathAt(request, upstream),
      body: Buffer.from(upstream.model === undefined ? body : withModel(body, upstream.model)),
      headers: {
        ...(isEncoded(incoming.header('content-encoding')) && { 'content-encoding': undefined }),
        'accept-encoding': 'identity',
        ...mergeHeaders(headers, incoming.header),
      },
    })
    if (signal.aborted) {
      answer.body.discard()
      throw signal.reason
    }
    const bytes = await answer.body.whole(MAX_ANSWER_BYTES)
    if (bytes === undefined) {
      answer.body.discard()
      throw new PlimsollError('upstream', 'The answer to a request for a summary is too long to be one.')
    }
    if (answer.status >= 400)
      throw new PlimsollError('upstream', `The provider answers ${answer.status} to a request for a summary.`)
    const observer = observeResponse(wire, answer)
    observer.chunk(bytes)
    const response = observer.end()
    if (response === undefined)
      throw new PlimsollError('upstream', 'The answer to a request for a summary cannot be read.')
    return response
  }
