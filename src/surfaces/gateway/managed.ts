import type { Codec, ModelResponse } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import type { EventBody } from '../../core/events.ts'
import type { LearnedLimit, Target } from '../../core/target.ts'
import { lessonOf, type LearnedLimits } from '../../engine/learned-limits.ts'
import type { PreparedTurn } from '../../engine/prepare.ts'
import type { Session } from '../../engine/session.ts'
import { classifyProviderError, type ClassifiedError } from '../../formats/overflow/index.ts'
import { isEncoded, decodeBody, readableEncodings } from './encoding.ts'
import type { HiddenSession } from './hidden/index.ts'
import { hiddenTap } from './hidden/tap.ts'
import { hiddenWhole } from './hidden/whole.ts'
import type { IncomingRequest, Outbound, Place, Reply, Tap, Upstream, UpstreamAnswer } from './exchange.ts'
import { reportHeaders } from './headers.ts'
import { observeResponse } from './observe.ts'
import { withPathModel, type Route } from './routes.ts'
import { say } from './say.ts'
import { withModel } from './with-model.ts'
import type { HeaderReader } from './identity.ts'

/** One request for a model, on its way through the gateway. */
export interface ManagedRequest<B> {
  readonly request: IncomingRequest
  readonly route: Route
  readonly codec: Codec
  /** The body as the client wrote it, unpacked. */
  readonly clientText: string
  /** The same with what we put in before the engine sees it. */
  readonly text: string
  readonly conversation: Conversation
  /** Tools of ours in this session. */
  readonly hidden?: HiddenSession
  readonly tenant: string
  readonly sessionId: string
  readonly agent: string
  readonly session: Session
  readonly mode: 'apply' | 'observe'
  readonly upstream: Upstream<B>
  readonly learned: LearnedLimits
  readonly window?: number
  readonly emit: (event: EventBody) => void
  readonly now: () => number
  readonly costUsd: () => number | undefined
  /** Told about each complete answer. */
  readonly onResponse: (response: ModelResponse) => Promise<void>
}

/** A request that was made to fit one place. */
interface Attempt {
  readonly place: Place
  readonly target: Target
  readonly prepared: PreparedTurn
}

/** Longer error bodies than this are no error bodies. */
const MAX_ERROR_BYTES = 1024 * 1024

/** prepare → send → recover an overflow once, or move to the next place → pass the answer on while reading along. */
export async function exchange<B>(managed: ManagedRequest<B>): Promise<Reply<B>> {
  const startedAt = managed.now()
  const { places } = managed.request
  for (const [i, place] of places.entries()) {
    const isLast = i === places.length - 1
    const attempt = await fit(managed, place, isLast)
    if (attempt === undefined) continue
    if (attempt.prepared.verdict.kind === 'halt') return halted(managed, attempt)
    const sent = await deliver(managed, attempt, isLast)
    if (sent !== undefined) return relayed(managed, sent, startedAt)
  }
  throw new PlimsollError('upstream', 'No upstream took the request.', { retryable: true })
}

/** Undefined when it does not fit here and another place is left. */
async function fit<B>(managed: ManagedRequest<B>, place: Place, isLast: boolean): Promise<Attempt | undefined> {
  const model = place.model ?? managed.route.model ?? managed.conversation.settings.model ?? 'unknown'
  const learned = await managed.learned.of({ tenant: managed.tenant, endpoint: place.endpoint, model })
  const window = place.window ?? managed.window
  const target: Target = {
    model,
    endpoint: place.endpoint,
    ...(window !== undefined && { window }),
    ...(learned !== undefined && { learned }),
  }
  try {
    return { place, target, prepared: await prepareFor(managed, target) }
  } catch (error) {
    if (isLast || !isPlimsollError(error) || !DOES_NOT_FIT.has(error.code)) throw error
    managed.emit({
      type: 'verdict-given',
      verdict: { kind: 'skip', target, reason: error.message, ...numbersOf(error) },
    })
    return undefined
  }
}

const DOES_NOT_FIT = new Set<string>(['fixed-overhead', 'overflow', 'limit-not-positive'])

function numbersOf({ fields }: PlimsollError): { projected: number; limit: number; margin: number } {
  const number = (key: string): number => (typeof fields[key] === 'number' ? fields[key] : 0)
  const projected = number('needed')
  return { projected, limit: number('limit'), margin: number('limit') - projected }
}

const prepareFor = <B>(managed: ManagedRequest<B>, target: Target): Promise<PreparedTurn> =>
  managed.session.prepare({
    format: managed.codec.format,
    body: managed.text,
    conversation: managed.conversation,
    targets: [target],
    archive: 'meanwhile',
  })

interface Sent<B> {
  readonly attempt: Attempt
  readonly answer: UpstreamAnswer<B>
  /** The body of an error, which had to be read to be understood. */
  readonly errorBody?: Uint8Array
  readonly recovered: boolean
}

/** Undefined when this place failed and another is left. */
async function deliver<B>(managed: ManagedRequest<B>, attempt: Attempt, isLast: boolean): Promise<Sent<B> | undefined> {
  const first = await send(managed, attempt, isLast)
  if (first === undefined || first.errorBody === undefined) return first
  const refusal = await understand(first)
  if (isTooLarge(refusal) && managed.mode === 'apply') {
    const again = await reduceAndRetry(managed, first, refusal)
    if (again !== undefined) return again
  }
  if (isLast || !(isTooLarge(refusal) || isPassing(first.answer.status))) return first
  await close(managed, attempt)
  managed.emit({ type: 'degraded', what: `upstream ${attempt.place.endpoint}`, cause: `status ${first.answer.status}` })
  return undefined
}

async function send<B>(managed: ManagedRequest<B>, attempt: Attempt, isLast: boolean): Promise<Sent<B> | undefined> {
  try {
    const answer = await managed.upstream.send(outboundOf(managed, attempt))
    if (answer.status < 400) return { attempt, answer, recovered: false }
    return { attempt, answer, errorBody: await answer.bytes(MAX_ERROR_BYTES), recovered: false }
  } catch (error) {
    await close(managed, attempt)
    if (isLast) throw error
    managed.emit({ type: 'degraded', what: `upstream ${attempt.place.endpoint}`, cause: (error as Error).message })
    return undefined
  }
}

/** Statuses that say something about the place and nothing about the request. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

type SizeError = ClassifiedError & { readonly kind: 'overflow' | 'body-size' }
const isTooLarge = (error: ClassifiedError): error is SizeError =>
  error.kind === 'overflow' || error.kind === 'body-size'

async function understand<B>({ answer, errorBody }: Sent<B>): Promise<ClassifiedError> {
  const encoding = answer.header('content-encoding')
  const plain = await decodeBody(errorBody!, encoding, MAX_ERROR_BYTES * 8).catch(() => errorBody!)
  return classifyProviderError({ status: answer.status, body: Buffer.from(plain).toString('utf8') })
}

/** Learns what the endpoint said, reduces once more and sends once more; undefined when that did not help. */
async function reduceAndRetry<B>(
  managed: ManagedRequest<B>,
  first: Sent<B>,
  refusal: SizeError,
): Promise<Sent<B> | undefined> {
  const { place, target, prepared } = first.attempt
  await close(managed, first.attempt)
  const lesson = lessonOf(refusal, {
    tokens: prepared.load.count.high,
    outputReserve: prepared.limit.outputReserve,
    bytes: Buffer.byteLength(prepared.text),
  })
  await teach(managed, target, lesson)
  try {
    const smaller = { ...target, learned: { ...target.learned, ...lesson } }
    const attempt: Attempt = { place, target: smaller, prepared: await prepareFor(managed, smaller) }
    const again = await send(managed, attempt, true)
    if (again === undefined) return undefined
    if (again.errorBody === undefined) {
      managed.emit({ type: 'overflow-recovered', ...(lesson.window !== undefined && { window: lesson.window }) })
    }
    return { ...again, recovered: again.errorBody === undefined }
  } catch (error) {
    // It cannot be made smaller: the client gets the provider's own words, which its own compaction may understand.
    if (isPlimsollError(error) && DOES_NOT_FIT.has(error.code)) return undefined
    throw error
  }
}

async function teach<B>(managed: ManagedRequest<B>, target: Target, lesson: LearnedLimit): Promise<void> {
  await managed.learned.learn({ tenant: managed.tenant, endpoint: target.endpoint ?? '', model: target.model }, lesson)
  if (lesson.window !== undefined) {
    managed.emit({ type: 'window-learned', model: target.model, window: lesson.window, source: target.endpoint ?? '' })
  }
}

/** Best effort: a turn that was never answered must not stay open. */
const close = async <B>({ session }: ManagedRequest<B>, { prepared }: Attempt): Promise<void> => {
  await session.record({ turn: prepared.id, refused: true }).catch(() => undefined)
}

function outboundOf<B>(managed: ManagedRequest<B>, { place, prepared }: Attempt): Outbound {
  const { request, route, mode } = managed
  const untouched = mode === 'observe' || (prepared.text === managed.clientText && place.model === undefined)
  const text = place.model === undefined ? prepared.text : withModel(prepared.text, place.model)
  return {
    place,
    path: place.model === undefined ? request.path : withPathModel(request.path, route, place.model),
    // Untouched requests leave as the bytes that came in, packed or not.
    body: untouched ? request.body : Buffer.from(text),
    headers: {
      ...(!untouched && isEncoded(request.header('content-encoding')) && { 'content-encoding': undefined }),
      // An answer that may have to be rewritten has to come plain.
      'accept-encoding':
        managed.hidden === undefined ? readableEncodings(request.header('accept-encoding')) : 'identity',
      ...(mode === 'apply' && besideOwn(prepared.headers, request.header)),
    },
  }
}

/** Lists such as `anthropic-beta` grow by our entry; what the client asked for stays in them. */
export function besideOwn(needed: Readonly<Record<string, string>>, own: HeaderReader): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(needed)) {
    const list = (own(name) ?? '')
      .split(',')
      .map((entry) => entry.trim())
      .filter((entry) => entry !== '' && entry !== value)
    headers[name] = [...list, value].join(',')
  }
  return headers
}

async function relayed<B>(managed: ManagedRequest<B>, sent: Sent<B>, startedAt: number): Promise<Reply<B>> {
  const { answer, attempt, errorBody, recovered } = sent
  const { prepared, place } = attempt
  const { sessionId: session, agent, mode, hidden } = managed
  const reply = {
    kind: 'relay' as const,
    from: answer,
    headers: reportHeaders({ session, prepared, mode, recovered, costUsd: managed.costUsd() }),
    turn: { session, agent, prepared, recovered, place },
  }
  const finished = (): void =>
    managed.emit({ type: 'request-forwarded', status: answer.status, durationMs: managed.now() - startedAt })
  if (errorBody !== undefined) {
    await close(managed, attempt)
    finished()
    return { ...reply, body: errorBody }
  }
  if (hidden === undefined) return { ...reply, tap: plainTap(managed, sent, finished) }
  let current = attempt
  const steps = {
    codec: managed.codec,
    hidden,
    finished,
    recorded: (response: ModelResponse | undefined) => recorded(managed, current, response),
    async proceed(text: string): Promise<UpstreamAnswer<B>> {
      const next = await goOn(managed, place, text)
      current = next.attempt
      return next.answer
    },
  }
  if ((answer.header('content-type') ?? '').includes('text/event-stream')) return { ...reply, tap: hiddenTap(steps) }
  const body = await hiddenWhole(steps, answer)
  finished()
  return { ...reply, headers: { ...reply.headers, ...PLAIN }, body }
}

/** Whatever encoding the upstream chose, the body that we read is plain. */
const PLAIN = { 'content-encoding': 'identity' }

/** The request after a hidden step, to the same place and with the same care. */
async function goOn<B>(managed: ManagedRequest<B>, place: Place, text: string): Promise<Sent<B>> {
  const next = { ...managed, text, conversation: managed.codec.decode(text) }
  const attempt = await fit(next, place, true)
  const sent = attempt === undefined ? undefined : await deliver(next, attempt, true)
  if (sent !== undefined && sent.errorBody === undefined) return sent
  if (sent !== undefined) await close(managed, sent.attempt)
  throw new PlimsollError('upstream', `The model could not go on after reading: status ${sent?.answer.status ?? 0}.`, {
    retryable: true,
  })
}

function plainTap<B>(managed: ManagedRequest<B>, { answer, attempt }: Sent<B>, finished: () => void): Tap<B> {
  const observer = observeResponse(managed.codec, {
    contentType: answer.header('content-type') ?? '',
    contentEncoding: answer.header('content-encoding'),
  })
  return {
    chunk(bytes) {
      observer.chunk(bytes)
      return bytes
    },
    async end() {
      const response = await observer.end()
      return { settled: recorded(managed, attempt, response).then(finished) }
    },
  }
}

/** Best effort: an answer that cannot be recorded is the client's all the same. */
async function recorded<B>(
  managed: ManagedRequest<B>,
  { prepared }: Attempt,
  response: ModelResponse | undefined,
): Promise<void> {
  try {
    await managed.session.record({
      turn: prepared.id,
      ...(response?.usage !== undefined && { usage: response.usage }),
    })
    if (response !== undefined) await managed.onResponse(response)
  } catch (error) {
    managed.emit({ type: 'warning', topic: 'record', message: (error as Error).message })
  }
}

/** The policy says stop: the client's SDK gets a complete answer that says why. */
function halted<B>(managed: ManagedRequest<B>, attempt: Attempt): Reply<B> {
  const { prepared, target, place } = attempt
  const { verdict } = prepared
  // SDKs wait and ask again; what calls under way do not need comes back when they are settled.
  if (verdict.retryable === true) {
    throw new PlimsollError('budget-exceeded', verdict.reason, {
      advice: 'Calls under way hold what is left; try again when they are done.',
      retryable: true,
    })
  }
  const { sessionId: session, agent, mode, route, conversation } = managed
  return {
    kind: 'answer',
    answer: say(
      managed.codec.format,
      {
        text: `Plimsoll stopped this run before the model was called: ${verdict.reason}.`,
        model: target.model,
        id: `plimsoll_${prepared.id}`,
        nowSeconds: Math.floor(managed.now() / 1000),
        stream: route.stream ?? (conversation.settings.stream ? 'sse' : false),
      },
      reportHeaders({ session, prepared, mode, recovered: false, costUsd: managed.costUsd() }),
    ),
    turn: { session, agent, prepared, recovered: false, place },
  }
}
