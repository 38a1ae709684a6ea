import type { RuleOptions, StreamEvent, Violation } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import type { Fields } from '../../core/values.ts'
import type { Framing } from '../../formats/framing.ts'
import type { WireFormat } from '../../formats/registry.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Answer, Issuer, Script } from './brain.ts'
import type { HiddenTokenizer, HiddenTokenizerOptions } from './tokenizer.ts'

/** A simulated failure. */
export type Fault =
  | { readonly kind: 'throttle'; readonly retryAfterSeconds?: number; readonly message?: string }
  | { readonly kind: 'server-error'; readonly status?: number }
  | { readonly kind: 'overloaded' }
  /** No answer until the client disconnects or the referee closes. */
  | { readonly kind: 'hang' }
  /** The connection breaks after this many events of a stream, or halfway through a whole answer. */
  | { readonly kind: 'cut-stream'; readonly afterEvents?: number }
  /** An error event within a stream that began with status 200. */
  | { readonly kind: 'error-event'; readonly afterEvents?: number }
  /** A gateway before the provider refuses the body with its own page. */
  | { readonly kind: 'html-413' }
  /** The front of the prompt is silently removed until it fits, as local servers do. */
  | { readonly kind: 'truncate-front' }

/** The requests that a fault affects, by their number from 1 over all requests. */
export interface PlannedFault {
  readonly on: number | readonly number[] | 'every'
  readonly fault: Fault
}

export type FaultPlan = readonly PlannedFault[] | ((number: number) => Fault | undefined)

/**
 * `on`: as the vendor reports it. `off`: never. `zero`: zeros. `late`: each answer has the previous answer's numbers. `stream-end`: a stream
 * reports usage only in its last event.
 */
export type UsageMode = 'on' | 'off' | 'zero' | 'late' | 'stream-end'

export interface RefereeOptions {
  readonly wire: Wire
  /** The window in tokens; it includes the answer where the wire counts that. @default 200000 */
  readonly window?: number
  /** How the referee counts: a function, or ratios for the built-in tokenizer. */
  readonly tokenizer?: HiddenTokenizer | HiddenTokenizerOptions
  /** Counts a whole body. @default the sum of the tokenizer's counts of its parts */
  readonly countPrompt?: (body: unknown) => number
  /** Seed of ids, ratios and chunk sizes. @default 1 */
  readonly seed?: number
  readonly script?: Script
  readonly faults?: FaultPlan
  /** @default 'on' */
  readonly usage?: UsageMode
  /**
   * `truncate-front` answers 200 for a shortened prompt and reports the shortened count. `in-answer` begins with status 200 and reports the error
   * in the stream; without streaming, the error has status 200. @default 'reject'
   */
  readonly overflow?: 'reject' | 'truncate-front' | 'in-answer'
  /** Vendor sub-profile of the rules, e.g. `mistral`. */
  readonly profile?: string
  /** The issuer of seals for thinking and reasoning; seals of another name are refused. @default 'referee' */
  readonly issuer?: string
  /** Larger bodies get the vendor's 413, or a gateway's page. */
  readonly bodyLimitBytes?: number
  /** @default 'vendor' */
  readonly bodyLimitStyle?: 'vendor' | 'html'
  /** The key that clients must send, if set. */
  readonly apiKey?: string
  /** Secrets by access key id, for APIs whose requests are signed; each signature is checked. */
  readonly accessKeys?: Readonly<Record<string, string>>
  readonly clock?: Clock
  readonly cache?: Partial<CacheRule>
  /** Separates conversations that share a referee; prefixes are compared within a lane. @default one lane */
  readonly laneOf?: (request: RefereeRequest, body: unknown) => string
  /** Splits the byte stream into pieces of 1 to this many bytes, so that events and characters are cut. */
  readonly chunkBytes?: number
  /** Awaited before each event of a stream, so that a test can control its speed. */
  readonly pace?: (event: number) => Promise<void> | void
  /** Sends a keep-alive before every n-th event. @default off */
  readonly keepAliveEvery?: number
  readonly models?: readonly string[]
}

export type Wire = WireFormat

export interface RefereeRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Header names are in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal?: AbortSignal
}

export interface RefereeResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Throws when the connection is cut. */
  readonly body: AsyncIterable<Uint8Array>
}

/** The meaning of a path. Gemini's paths name the model and whether to stream. */
export interface Route {
  readonly kind: 'generate' | 'count' | 'models' | 'compact'
  readonly model?: string
  readonly stream?: boolean
}

/**
 * A part of the prompt, in the order in which the provider caches it: tools, system, messages. Two prompts share it if the `key` is equal; cache
 * marks are not part of the key, because moving a mark does not change the prompt.
 */
export interface Segment {
  readonly path: string
  readonly section: 'tools' | 'system' | 'messages'
  readonly key: string
  /** The text that the tokenizer counts. */
  readonly text: string
  /** Tokens in addition to the text: pictures, hidden reasoning, the overhead of a message. */
  readonly extraTokens: number
  readonly mark?: 'short' | 'long'
}

export interface CountedSegment extends Segment {
  readonly tokens: number
}

/** The facts of a body that the referee needs, on any wire. */
export interface RequestFacts {
  readonly model: string
  readonly stream: boolean
  readonly maxOutput: number | undefined
  readonly segments: readonly Segment[]
  readonly tools: readonly string[]
  /** A streaming client asked for usage. Absent on wires that always report it. */
  readonly asksUsage?: boolean
  /** The window that the request asks for, on wires where it can. */
  readonly window?: number
  /** Settings that separate cached messages without being text, e.g. tool choice. */
  readonly cacheSalt?: string
}

/** Rules that need the issuer's memory: signatures, bindings, stored responses. */
export interface Verification {
  readonly violations: readonly Violation[]
  /** Paths of blocks that the provider removes instead of refusing the request. */
  readonly dropped?: readonly string[]
}

export type FailureKind =
  | 'invalid'
  | 'overflow'
  | 'too-large'
  | 'throttle'
  | 'server'
  | 'overloaded'
  | 'auth'
  | 'not-found'

export interface Failure {
  readonly kind: FailureKind
  readonly status: number
  readonly message: string
  readonly param?: string
  readonly rule?: string
  /** Sent instead of the dialect's error body, for sub-profiles with another shape. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** The numbers of a request that does not fit. */
export interface OverflowFacts {
  readonly input: number
  readonly maxOutput: number
  readonly window: number
  readonly model: string
  readonly profile: string | undefined
}

export interface RenderContext {
  readonly body: Fields
  readonly facts: RequestFacts
  readonly answer: Answer
  /** Unique per exchange, and the same in every run. */
  readonly id: (prefix: string, part?: number) => string
  readonly issuer: Issuer
  readonly countTokens: (text: string) => number
  readonly inputTokens: number
  readonly usage: Usage | undefined
  /** A stream reports usage only in its last event. */
  readonly usageAtEnd: boolean
  readonly route: Route
  readonly profile: string | undefined
  readonly nowSeconds: number
  readonly dropped: readonly string[]
  readonly memory: Map<string, unknown>
}

export interface VerifyContext {
  readonly body: Fields
  readonly facts: RequestFacts
  readonly headers: Readonly<Record<string, string>>
  readonly issuer: Issuer
  readonly memory: Map<string, unknown>
}

export interface Rendered {
  readonly body: unknown
  readonly events: readonly StreamEvent[]
}

/** The behaviour of one wire; everything else about a referee is the same for all. */
export interface Dialect {
  readonly wire: Wire
  /** How its streams travel. @default as its wire's do */
  readonly framing?: Framing
  route(method: string, path: string): Route | undefined
  check(body: unknown, options: RuleOptions): readonly Violation[]
  read(body: Fields, route: Route, memory: ReadonlyMap<string, unknown>): RequestFacts
  /** Returns an error for wrong headers. */
  authorise(
    request: RefereeRequest,
    apiKey: string | undefined,
    accessKeys?: RefereeOptions['accessKeys'],
  ): Failure | undefined
  verify?(context: VerifyContext): Verification
  overflow(facts: OverflowFacts): Failure
  error(failure: Failure, id: string): unknown
  /** An error within a stream. @default the same error as data */
  errorEvent?(failure: Failure, id: string): StreamEvent
  /** An error after status 200: as a whole answer, and as the events before any content. @default the error alone */
  refuseInside?(failure: Failure, id: string, nowSeconds: number): Rendered
  render(context: RenderContext): Rendered
  count(tokens: number): unknown
  models(ids: readonly string[], window: number): unknown
  /** Sent between events to keep the connection open. */
  readonly keepAlive: string
  readonly cache: CacheRule
  /** The status when the provider is overloaded. @default 503 */
  readonly overloadedStatus?: number
  /** Whether error messages begin with the path of the faulty field. */
  readonly namesPaths?: boolean
  /** What happens to a prompt that does not fit. @default 'reject' */
  readonly overflows?: 'reject' | 'truncate-front'
  /** The tokens that must fit into the window. */
  readonly fits: 'input-plus-output' | 'input'
}

export interface CacheRule {
  readonly mode: 'marks' | 'automatic'
  readonly minimumTokens: number
  /** Cached lengths are multiples of this number of tokens. */
  readonly blockTokens: number
  readonly shortTtlSeconds: number
  readonly longTtlSeconds: number
}
