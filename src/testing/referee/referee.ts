// `createReferee` is one long closure, because its steps share the provider's memory, log and ids.
import { bundledCatalogue } from '../../drivers/catalogue/bundled.ts'
import type { StreamEvent, Violation } from '../../core/codec.ts'
import { NO_USAGE, type Usage } from '../../core/usage.ts'
import { type Fields, isRecord, messageOf } from '../../core/values.ts'
import { bytesOf, type Piece } from '../../formats/framing.ts'
import { wireOf } from '../../formats/registry.ts'
import { systemClock } from '../../ports/clock.ts'
import { type Answer, answerOf, createIds, createIssuer, outputOf, trimAnswer } from './brain.ts'
import { dialectOf } from './dialects/index.ts'
import { type Draft, draftOf, type Exchange, type PrefixReport, type RefereeSummary, summarise } from './log.ts'
import { type ChainedPrompt, chainOf, createPromptCache } from './prompt-cache.ts'
import { createHiddenTokenizer, type HiddenTokenizer, memoise } from './tokenizer.ts'
import type {
  CountedSegment,
  Dialect,
  Failure,
  Fault,
  FaultPlan,
  RefereeOptions,
  RefereeRequest,
  RefereeResponse,
  RequestFacts,
  Route,
  Segment,
  UsageMode,
} from './types.ts'

/** The connection broke: the body ends early. */
class ConnectionCut extends Error {
  override readonly name = 'ConnectionCut'
  constructor() {
    super('The connection was cut.')
  }
}

// oxlint-disable-next-line typescript/require-await -- the body of a response is asynchronous for all senders
async function* sendBytes(text: string, cut = false): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text)
  yield cut ? bytes.subarray(0, bytes.length >> 1) : bytes
  if (cut) throw new ConnectionCut()
}

interface EventStream {
  readonly options: Pick<RefereeOptions, 'chunkBytes' | 'keepAliveEvery' | 'pace' | 'seed'>
  readonly events: readonly StreamEvent[]
  readonly fault: Fault | undefined
  readonly errorEvent: StreamEvent
  readonly keepAlive: string
  readonly write: (event: StreamEvent) => Piece
}

/** Sends events one by one, with the faults that were planned for the stream. */
async function* sendEvents(stream: EventStream): AsyncGenerator<Uint8Array> {
  const { events, fault } = stream
  const { chunkBytes, keepAliveEvery, pace, seed = 1 } = stream.options
  const faultAt =
    fault?.kind === 'cut-stream' || fault?.kind === 'error-event' ? (fault.afterEvents ?? events.length >> 1) : Infinity
  const split = splitter(chunkBytes, seed)
  for (const [index, event] of events.entries()) {
    if (index >= faultAt) {
      if (fault?.kind === 'cut-stream') throw new ConnectionCut()
      yield* split(stream.write(stream.errorEvent))
      return
    }
    await pace?.(index)
    if (keepAliveEvery !== undefined && index > 0 && index % keepAliveEvery === 0) yield* split(stream.keepAlive)
    yield* split(stream.write(event))
  }
}

/** Cuts bytes into pieces of seeded random size, so that characters and events break between chunks. */
function splitter(chunkBytes: number | undefined, seed: number): (piece: Piece) => Generator<Uint8Array> {
  let state = seed >>> 0 || 1
  const next = (limit: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return 1 + (state % limit)
  }
  return function* split(piece) {
    const bytes = bytesOf([piece])
    if (chunkBytes === undefined) {
      yield bytes
      return
    }
    for (let at = 0; at < bytes.length;) {
      const size = next(chunkBytes)
      yield bytes.subarray(at, at + size)
      at += size
    }
  }
}

/** Never answers; ends when the client disconnects or the referee closes. */
function hang(closed: AbortSignal, client: AbortSignal = closed): Promise<RefereeResponse> {
  const signal = AbortSignal.any([closed, client])
  return new Promise((_resolve, reject) => {
    const giveUp = (): void => reject(new ConnectionCut())
    if (signal.aborted) giveUp()
    signal.addEventListener('abort', giveUp, { once: true })
  })
}

function faultFor(plan: FaultPlan | undefined, number: number): Fault | undefined {
  if (plan === undefined) return undefined
  if (typeof plan === 'function') return plan(number)
  return plan.find(({ on }) => on === 'every' || on === number || (Array.isArray(on) && on.includes(number)))?.fault
}

/** The error page of a common reverse proxy for a body over its limit. */
const HTML_413 =
  '<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n' +
  '<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n'

function htmlTooLarge(draft: Draft): RefereeResponse {
  draft.status = 413
  return { status: 413, headers: { 'content-type': 'text/html' }, body: sendBytes(HTML_413) }
}

/** Faults that are errors of the provider; the other faults change how an answer is sent. */
function failureOfFault(
  fault: Fault,
  { overloadedStatus = 503 }: Pick<Dialect, 'overloadedStatus'>,
): Failure | undefined {
  switch (fault.kind) {
    case 'throttle': {
      // Mentions tokens on purpose: throttling of this kind is not an overflow.
      const message = fault.message ?? 'This request would exceed the rate limit of 40,000 input tokens per minute.'
      return {
        kind: 'throttle',
        status: 429,
        message,
        headers: { 'retry-after': String(fault.retryAfterSeconds ?? 1) },
      }
    }
    case 'server-error':
      return { kind: 'server', status: fault.status ?? 500, message: 'Internal server error' }
    case 'overloaded':
      return { kind: 'overloaded', status: overloadedStatus, message: 'Overloaded' }
    default:
      return undefined
  }
}

/** The newest answered prompt of each conversation, with which the next one is compared. */
function createLanes() {
  const lanes = new Map<string, { readonly number: number; readonly chain: readonly string[] }>()
  return {
    /** Compares a prompt with the previous one of its lane, and then replaces it. */
    compare(lane: string, number: number, { segments, chain }: ChainedPrompt): PrefixReport | undefined {
      const previous = lanes.get(lane)
      lanes.set(lane, { number, chain })
      if (previous === undefined) return undefined
      const shorter = Math.min(chain.length, previous.chain.length)
      let common = 0
      while (common < shorter && chain[common] === previous.chain[common]) common += 1
      // A shorter prompt that is a prefix of the previous one (a rewind) still reads from the cache, so it is no break.
      const broke = common < shorter
      return {
        previous: previous.number,
        segments: chain.length,
        previousSegments: previous.chain.length,
        common,
        commonTokens: totalOf(segments.slice(0, common)),
        broke,
        at: broke ? (segments[common]?.path ?? '') : undefined,
      }
    },
  }
}

/** The usage that the client is told; undefined means that the answer contains none. */
function reportedUsage(mode: UsageMode, usage: Usage, previous: Usage | undefined): Usage | undefined {
  if (mode === 'off') return undefined
  if (mode === 'zero') return NO_USAGE
  return mode === 'late' ? previous : usage
}

// The vendors' parsers refuse far less depth; ours would overflow its stack while comparing prompts.
const MAX_DEPTH = 500

const refuse = (message: string): { failure: Failure } => ({
  failure: { kind: 'invalid', status: 400, message, rule: 'valid-json' },
})

/** Parses the bytes as JSON; otherwise the vendor's error. */
function parseBody(raw: Uint8Array): { readonly body: Fields } | { readonly failure: Failure } {
  let parsed: unknown
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(raw))
  } catch (error) {
    return refuse(`The request body is not valid JSON: ${messageOf(error)}`)
  }
  if (!isRecord(parsed)) return refuse('The request body is not a JSON object')
  if (isDeeperThan(parsed, MAX_DEPTH)) return refuse('The request body is not valid JSON: recursion limit exceeded')
  return { body: parsed }
}

function isDeeperThan(value: unknown, limit: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > limit) return true
    const next: unknown[] = []
    for (const entry of level) {
      if (typeof entry !== 'object' || entry === null) continue
      for (const child of Object.values(entry)) if (typeof child === 'object' && child !== null) next.push(child)
    }
    level = next
  }
  return false
}

/** Counts segments; blocks that the provider drops count zero. */
const countSegments = (
  segments: readonly Segment[],
  tokenizer: HiddenTokenizer,
  dropped: ReadonlySet<string> = new Set(),
): CountedSegment[] =>
  segments.map((segment) => ({
    ...segment,
    tokens: dropped.has(segment.path) ? 0 : tokenizer(segment.text) + segment.extraTokens,
  }))

const totalOf = (segments: readonly CountedSegment[]): number => segments.reduce((sum, { tokens }) => sum + tokens, 0)

/** The newest segments that fit into `limit`, and the tokens that were removed before them. */
function keepNewest(
  segments: readonly CountedSegment[],
  limit: number,
): { readonly kept: readonly CountedSegment[]; readonly lost: number } {
  let room = limit
  let from = segments.length
  while (from > 0 && (segments[from - 1]?.tokens ?? 0) <= room) {
    from -= 1
    room -= segments[from]?.tokens ?? 0
  }
  const partial = segments[from - 1]
  // A server cuts at tokens, not at messages, so the rest of the limit goes to the end of the next older segment.
  const kept = from > 0 && partial !== undefined && room > 0 ? [{ ...partial, tokens: room }] : []
  const all = [...kept, ...segments.slice(from)]
  return { kept: all, lost: totalOf(segments) - totalOf(all) }
}

/** The vendor's error for a broken rule; the rule's name is added for tests. */
function failureOf(dialect: Dialect, violation: Violation): Failure {
  const where = violation.path === '' ? '' : `${violation.path}: `
  const prefixed = dialect.namesPaths ? where : ''
  const tooLarge = violation.rule === 'body-bytes'
  return {
    kind: tooLarge ? 'too-large' : 'invalid',
    status: tooLarge ? 413 : 400,
    message: `${prefixed}${violation.message} [rule: ${violation.rule}]`,
    param: violation.path,
    rule: violation.rule,
  }
}

/** A strict fake provider: it refuses what the real one refuses, counts with a hidden tokenizer, and logs all requests. */
export interface Referee {
  readonly wire: RefereeOptions['wire']
  handle(request: RefereeRequest): Promise<RefereeResponse>
  /** The same as a `fetch` function, for SDKs that take one. */
  readonly fetch: typeof globalThis.fetch
  readonly log: readonly Exchange[]
  summary(): RefereeSummary
  /** The referee's count of a body, by its hidden tokenizer. */
  countTokens(body: unknown): number
  /** Ends hanging requests. @throws what the script threw */
  close(): void
}

/** A request that is being judged and answered. */
interface Case {
  readonly draft: Draft
  readonly request: RefereeRequest
  readonly route: Route
  readonly body: Fields
  readonly fault: Fault | undefined
}

const JSON_TYPE = { 'content-type': 'application/json' }

const succeed = (draft: Draft, body: unknown, cut = false): RefereeResponse => {
  draft.status = 200
  return { status: 200, headers: JSON_TYPE, body: sendBytes(JSON.stringify(body), cut) }
}

/** The output cap of requests that name none. */
const DEFAULT_MAX_OUTPUT = 4096

/** Says of which models an answer ends where the window ends. */
const catalogue = bundledCatalogue()

export function createReferee(options: RefereeOptions): Omit<Referee, 'fetch'> {
  const { wire, window = 200_000, seed = 1, usage: usageMode = 'on' } = options
  const { clock = systemClock, laneOf = () => 'main', issuer: issuerName = 'referee' } = options
  const dialect = dialectOf(wire, options.profile)
  const { framing = wireOf(wire).framing } = dialect
  const tokenizer = memoise(
    typeof options.tokenizer === 'function' ? options.tokenizer : createHiddenTokenizer({ seed, ...options.tokenizer }),
  )
  const cache = createPromptCache({ ...dialect.cache, ...options.cache })
  const issuer = createIssuer(issuerName)
  const ids = createIds(seed)
  const memory = new Map<string, unknown>()
  const lanes = createLanes()
  const log: Exchange[] = []
  const closing = new AbortController()
  let answered = 0
  let lastUsage: Usage | undefined
  const thrown: unknown[] = []

  const fail = (draft: Draft, failure: Failure): RefereeResponse => {
    draft.status = failure.status
    const rule: Record<string, string> = failure.rule === undefined ? {} : { 'x-referee-rule': failure.rule }
    const body = JSON.stringify(failure.body ?? dialect.error(failure, ids.of('req', draft.number)))
    return { status: failure.status, headers: { ...JSON_TYPE, ...failure.headers, ...rule }, body: sendBytes(body) }
  }

  const errorEventOf = (failure: Failure, id: string): StreamEvent =>
    dialect.errorEvent?.(failure, id) ?? { data: JSON.stringify(dialect.error(failure, id)) }

  const stream = (draft: Draft, events: readonly StreamEvent[], fault: Fault | undefined): RefereeResponse => {
    draft.status = 200
    const failure: Failure = { kind: 'overloaded', status: 529, message: 'Overloaded' }
    const errorEvent = errorEventOf(failure, ids.of('req', draft.number))
    const body = sendEvents({ events, fault, errorEvent, keepAlive: dialect.keepAlive, write: framing.write, options })
    return { status: 200, headers: { 'content-type': framing.contentType, 'cache-control': 'no-cache' }, body }
  }

  const failInside = (draft: Draft, failure: Failure, isStream: boolean): RefereeResponse => {
    const id = ids.of('req', draft.number)
    const { body, events } = dialect.refuseInside?.(failure, id, Math.floor(clock.now() / 1000)) ?? {
      body: dialect.error(failure, id),
      events: [errorEventOf(failure, id)],
    }
    return isStream ? stream(draft, events, undefined) : succeed(draft, failure.body ?? body)
  }

  const refuse = (draft: Draft, violations: readonly Violation[]): RefereeResponse | undefined => {
    const [first] = violations
    draft.violations = violations
    return first === undefined ? undefined : fail(draft, failureOf(dialect, first))
  }

  /** Answers a valid request: records usage and asks the script for an answer. */
  const answer = ({ draft, route, body, fault }: Case, facts: RequestFacts, counted: readonly CountedSegment[]) => {
    const now = clock.now()
    const prompt = { segments: counted, chain: chainOf(counted) }
    const use = cache.use(facts, prompt, now)
    const prefix = lanes.compare(draft.lane, draft.number, prompt)
    // A request for compaction takes no answer from the script.
    if (route.kind === 'generate') answered += 1
    const { lane, inputTokens } = draft
    const turn = { number: answered, body, model: facts.model, lane, inputTokens, tools: facts.tools }
    let wanted: Answer
    try {
      wanted = answerOf(options.script, turn)
    } catch (error) {
      // A status that no client asks again for; a test that never sees the answer is told by `close`.
      thrown.push(error)
      return fail(draft, {
        kind: 'invalid',
        status: 400,
        message: `The script failed: ${messageOf(error)}`,
        rule: 'script',
      })
    }
    const said = trimAnswer(wanted, facts.maxOutput ?? DEFAULT_MAX_OUTPUT, tokenizer)
    const usage: Usage = {
      input: inputTokens,
      cacheRead: use.read,
      cacheWrite: use.write,
      cacheWriteLong: use.writeLong > 0 ? use.writeLong : undefined,
      ...outputOf(said, tokenizer),
    }
    const rendered = dialect.render({
      body,
      facts,
      answer: said,
      id: (kind, part = 0) => ids.of(kind, draft.number, part),
      issuer,
      countTokens: tokenizer,
      inputTokens,
      usage: reportedUsage(usageMode, usage, lastUsage),
      usageAtEnd: usageMode === 'stream-end',
      route,
      profile: options.profile,
      nowSeconds: Math.floor(now / 1000),
      dropped: draft.droppedBlocks,
      memory,
    })
    lastUsage = usage
    draft.answer = said
    draft.usage = usage
    draft.cacheRead = use.read
    draft.cacheWrite = use.write
    draft.cacheWriteLong = use.writeLong
    if (prefix !== undefined) draft.prefix = prefix
    if (facts.stream && rendered.events.length > 0) return stream(draft, rendered.events, fault)
    return succeed(draft, rendered.body, fault?.kind === 'cut-stream')
  }

  /** Counts the prompt and compares it with the window. */
  const weigh = (judged: Case, facts: RequestFacts, dropped: ReadonlySet<string>): RefereeResponse => {
    const { draft, route, fault, body } = judged
    const counted = countSegments(facts.segments, tokenizer, dropped)
    draft.droppedBlocks = [...dropped]
    draft.inputTokens = options.countPrompt?.(body) ?? totalOf(counted)
    if (route.kind === 'count') return succeed(draft, dialect.count(draft.inputTokens))
    draft.maxOutputTokens = facts.maxOutput ?? 0
    const stops = catalogue.resolve(facts.model).info.stopsAtWindow === true
    const reserve = dialect.fits === 'input-plus-output' && !stops ? draft.maxOutputTokens : 0
    const room = Math.min(window, facts.window ?? window)
    if (draft.inputTokens + reserve <= room) return answer(judged, facts, counted)
    const { overflow = dialect.overflows ?? 'reject' } = options
    if (overflow !== 'truncate-front' && fault?.kind !== 'truncate-front') {
      draft.overflow = true
      const numbers = { input: draft.inputTokens, maxOutput: reserve, window: room, model: facts.model }
      const failure = dialect.overflow({ ...numbers, profile: options.profile })
      return overflow === 'in-answer' ? failInside(draft, failure, facts.stream) : fail(draft, failure)
    }
    const { kept, lost } = keepNewest(counted, room)
    draft.truncatedTokens = lost
    draft.inputTokens = totalOf(kept)
    return answer(judged, facts, kept)
  }

  /** Checks the rules of the wire, then the issuer's seals. */
  const judge = (judged: Case): RefereeResponse => {
    const { draft, request, route, body } = judged
    const profiles = [options.profile, ...(route.kind === 'count' ? ['count-tokens'] : [])]
    const violations = dialect.check(body, {
      bytes: request.body.byteLength,
      profile: profiles.filter((name) => name !== undefined).join(','),
      model: route.model,
    })
    const refused = refuse(draft, violations)
    if (refused !== undefined) return refused
    const facts = dialect.read(body, route, memory)
    const verified = dialect.verify?.({ body, facts, headers: request.headers, issuer, memory })
    return refuse(draft, verified?.violations ?? []) ?? weigh(judged, facts, new Set(verified?.dropped))
  }

  /** Handles everything that does not need the body. */
  const receive = async (draft: Draft, request: RefereeRequest, fault: Fault | undefined) => {
    if (fault?.kind === 'hang') return hang(closing.signal, request.signal)
    const tooLarge = request.body.byteLength > (options.bodyLimitBytes ?? Infinity)
    if (fault?.kind === 'html-413' || (tooLarge && options.bodyLimitStyle === 'html')) return htmlTooLarge(draft)
    const failure = fault === undefined ? undefined : failureOfFault(fault, dialect)
    if (failure !== undefined) return fail(draft, failure)
    if (!tooLarge) return undefined
    return fail(draft, {
      kind: 'too-large',
      status: 413,
      message: 'Request exceeds the maximum size',
      rule: 'body-bytes',
    })
  }

  const handle = async (request: RefereeRequest): Promise<RefereeResponse> => {
    const route = dialect.route(request.method, request.path)
    const draft = draftOf(log.length + 1, request, route?.kind ?? 'unknown', window)
    // Logged immediately, so that a request that hangs is in the log too.
    log.push(draft)
    if (route === undefined) {
      return fail(draft, { kind: 'not-found', status: 404, message: `Not found: ${request.method} ${request.path}` })
    }
    const unauthorised = dialect.authorise(request, options.apiKey, options.accessKeys)
    if (unauthorised !== undefined) return fail(draft, unauthorised)
    if (route.kind === 'models') return succeed(draft, dialect.models(options.models ?? ['referee-model'], window))
    const fault = faultFor(options.faults, draft.number)
    if (fault !== undefined) draft.fault = fault.kind
    const early = await receive(draft, request, fault)
    if (early !== undefined) return early
    const parsed = parseBody(request.body)
    if ('failure' in parsed) {
      const { message } = parsed.failure
      draft.violations = [{ rule: 'valid-json', path: '', message }]
      return fail(draft, parsed.failure)
    }
    draft.body = parsed.body
    draft.lane = laneOf(request, parsed.body)
    return judge({ draft, request, route, body: parsed.body, fault })
  }

  return {
    wire,
    handle,
    log,
    summary: () => summarise(log),
    countTokens(body) {
      const facts = dialect.read((body ?? {}) as Fields, { kind: 'count' }, memory)
      return totalOf(countSegments(facts.segments, tokenizer))
    },
    close() {
      closing.abort()
      if (thrown.length > 0) throw thrown[0]
    },
  }
}
