import { DOES_NOT_FIT, isPlimsollError } from '../../core/errors.ts'
import type { LearnedLimit } from '../../core/target.ts'
import { spliceBytes } from '../../core/splices.ts'
import { isChained, showsWholePrompt } from '../../core/count.ts'
import type { LearnedFrom } from '../../engine/learning/learned-limits.ts'
import { within } from '../../engine/learning/within.ts'
import { lessonOf } from '../../engine/learning/size-refusal.ts'
import { classifyProviderError, type ClassifiedError } from '../../formats/overflow/classify.ts'
import { besideOwn } from '../upstream/beside-own.ts'
import { isForeign, sendAcross } from '../upstream/cross-wire.ts'
import { decodeBody, isEncoded, readableEncodings } from '../http/encoding.ts'
import { wholeOf, type Outbound, type UpstreamAnswer } from '../exchange-types.ts'
import type { PreparedTurn } from '../../engine/prepare/prepare.ts'
import { conversationKey, prepareFor, type Attempt } from './fit.ts'
import { refusalInside } from './look-ahead.ts'
import type { ManagedRequest } from './managed-request.ts'
import { withPathModel } from '../../formats/endpoints.ts'
import { withModel } from './with-model.ts'

/** Longer error bodies than this are no error bodies. */
const MAX_ERROR_BYTES = 1024 * 1024

export interface Sent<B> {
  readonly attempt: Attempt
  readonly answer: UpstreamAnswer<B>
  /** What the answer refuses, whether its status says so or only its words. */
  readonly refusal?: ClassifiedError
  /** The body of an error status, which had to be read to be understood; absent when it is too long for one. */
  readonly errorBody?: Uint8Array
  readonly recovered: boolean
}

/** Undefined when this place failed and another is left. */
export async function deliver<B>(
  managed: ManagedRequest<B>,
  attempt: Attempt,
  isLast: () => boolean,
): Promise<Sent<B> | undefined> {
  const first = await send(managed, attempt, isLast)
  if (first?.refusal === undefined) return first
  const { refusal, answer } = first
  if (isTooLarge(refusal) && managed.mode === 'apply') {
    const again = await reduceAndRetry(managed, first, refusal)
    if (again !== undefined) {
      answer.discard()
      return again
    }
  }
  const mayMoveOn = isTooLarge(refusal) || isPassing(answer.status) || refusal.kind === 'throttle'
  if (!mayMoveOn || isLast()) return first
  answer.discard()
  await close(managed, attempt, answer)
  managed.emit({ type: 'degraded', what: `upstream ${attempt.place.endpoint}`, cause: `status ${answer.status}` })
  return undefined
}

async function send<B>(
  managed: ManagedRequest<B>,
  attempt: Attempt,
  isLast: () => boolean,
): Promise<Sent<B> | undefined> {
  try {
    const answer = await call(managed, attempt)
    if (answer.status >= 400) {
      const errorBody = await wholeOf(answer, MAX_ERROR_BYTES)
      const refusal = await understand(answer, errorBody ?? new Uint8Array(), attempt.prepared.text)
      return { attempt, answer, ...(errorBody !== undefined && { errorBody }), refusal, recovered: false }
    }
    const refusal = managed.mode === 'apply' ? await refusalInside(managed.codec.format, answer) : undefined
    return { attempt, answer, ...(refusal !== undefined && { refusal }), recovered: false }
  } catch (error) {
    await close(managed, attempt)
    if (isLast()) throw error
    managed.emit({ type: 'degraded', what: `upstream ${attempt.place.endpoint}`, cause: (error as Error).message })
    return undefined
  }
}

function call<B>(managed: ManagedRequest<B>, attempt: Attempt): Promise<UpstreamAnswer<B>> {
  const { place, prepared } = attempt
  const { route, codec, codecs, upstream } = managed
  if (!isForeign(place, route)) return upstream.send(outboundOf(managed, attempt))
  const text = managed.mode === 'observe' ? managed.clientText : prepared.text
  const { outputReserve } = prepared.limit
  return sendAcross(upstream, {
    from: codec,
    to: codecs.get(place.wire)!,
    place,
    route,
    text,
    conversation: managed.decode(text),
    ...(outputReserve > 0 && { maxOutputTokens: outputReserve }),
    nowSeconds: Math.floor(managed.now() / 1000),
    emit: managed.emit,
  })
}

/** Statuses that say something about the place and nothing about the request. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

type SizeError = ClassifiedError & { readonly kind: 'overflow' | 'body-size' }
const isTooLarge = (error: ClassifiedError): error is SizeError =>
  error.kind === 'overflow' || error.kind === 'body-size'

async function understand<B>(
  answer: UpstreamAnswer<B>,
  errorBody: Uint8Array,
  request: string,
): Promise<ClassifiedError> {
  const encoding = answer.header('content-encoding')
  const plain = await decodeBody(errorBody, encoding, MAX_ERROR_BYTES * 8).catch(() => errorBody)
  return classifyProviderError({ status: answer.status, body: Buffer.from(plain).toString('utf8'), request })
}

/** Learns what the endpoint said, reduces once more and sends once more; undefined when that cannot help or did not. */
async function reduceAndRetry<B>(
  managed: ManagedRequest<B>,
  first: Sent<B>,
  refusal: SizeError,
): Promise<Sent<B> | undefined> {
  const { place, target, prepared } = first.attempt
  await close(managed, first.attempt, first.answer)
  const { learned, retry } = lessonOf(refusal, {
    tokens: prepared.load.count.high,
    outputReserve: prepared.limit.outputReserve,
    bytes: prepared.load.bytes,
    isWhole: showsWholePrompt(managed.conversation),
  })
  if (learned !== undefined) await learn(managed, first.attempt, learned, 'refusal')
  if (retry === undefined) return undefined
  // Of a history that the provider holds nothing can be taken out; where it is known, all of it is sent in its place.
  if (isChained(managed.conversation.settings) && (await managed.writeOut?.()) === undefined) return undefined
  try {
    const smaller = within(target, retry)
    const attempt: Attempt = { place, target: smaller, prepared: await prepareFor(managed, [place], [smaller]) }
    const again = await send(managed, attempt, () => true)
    if (again === undefined) return undefined
    const recovered = again.refusal === undefined
    if (recovered) {
      managed.held.hold(conversationKey(managed, target.endpoint ?? '', target.model), retry)
      managed.emit({ type: 'overflow-recovered', ...(retry.window !== undefined && { window: retry.window }) })
    }
    return { ...again, recovered }
  } catch (error) {
    // It cannot be made smaller: the client gets the provider's own words, which its own compaction may understand.
    if (isPlimsollError(error) && DOES_NOT_FIT.has(error.code)) return undefined
    throw error
  }
}

/** Nothing is learned where the user named the window. */
export async function learn<B>(
  managed: ManagedRequest<B>,
  { target: { model, endpoint = '', window }, prepared }: Attempt,
  limit: LearnedLimit,
  from: LearnedFrom,
): Promise<void> {
  const isSet = window !== undefined || prepared.limit.source === 'config'
  if (isSet && limit.window !== undefined) return
  const isLearned = await managed.learned.learn({ tenant: managed.tenant, endpoint, model }, limit, from)
  if (isLearned && limit.window !== undefined)
    managed.emit({ type: 'window-learned', model, window: limit.window, source: endpoint })
}

/** Best effort: a turn that was never answered must not stay open. */
export const close = async <B>(
  { session }: ManagedRequest<B>,
  { prepared }: Attempt,
  answer?: UpstreamAnswer<B>,
): Promise<void> => {
  const status = answer === undefined ? {} : { status: answer.status }
  await session.record({ turn: prepared.id, refused: true, durable: 'soon', ...status }).catch(() => undefined)
}

function outboundOf<B>(managed: ManagedRequest<B>, { place, prepared }: Attempt): Outbound {
  const { request, route, mode } = managed
  const untouched = mode === 'observe' || (prepared.text === managed.clientText && place.model === undefined)
  // An answer that may have to be rewritten has to come plain.
  const encodings = managed.hidden === undefined ? readableEncodings(request.header('accept-encoding')) : 'identity'
  const headers: Record<string, string | undefined> = { 'accept-encoding': encodings }
  if (!untouched && isEncoded(request.header('content-encoding'))) headers['content-encoding'] = undefined
  if (mode === 'apply') Object.assign(headers, besideOwn(prepared.headers, request.header))
  return {
    place,
    path: place.model === undefined ? request.path : withPathModel(request.path, route, place.model),
    // Untouched requests leave as the bytes that came in, packed or not.
    body: untouched ? request.body : bytesOf(managed, prepared, place.model),
    headers,
  }
}

function bytesOf<B>(
  { request: { body, header }, clientText }: ManagedRequest<B>,
  { text, load, splices }: PreparedTurn,
  model: string | undefined,
): Buffer {
  if (model !== undefined) return Buffer.from(withModel(text, model))
  // As many bytes as characters: all of it is ASCII, so that places in the text are places in the bytes.
  const isPlain = body.length === clientText.length && !isEncoded(header('content-encoding'))
  if (splices !== undefined && isPlain) return spliceBytes(body, splices)
  return Buffer.from(text, load.bytes === text.length ? 'latin1' : 'utf8')
}
