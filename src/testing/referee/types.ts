import type { RuleOptions, StreamEvent, Violation } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import type { Fields } from '../../core/values.ts'
import type { Framing } from '../../formats/framing.ts'
import type { WireFormat } from '../../formats/registry.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Answer, Issuer, Script } from './brain.ts'
import type { HiddenTokenizer, HiddenTokenizerOptions } from './tokenizer.ts'

/** Something that goes wrong on the way. */
export type Fault =
  | { readonly kind: 'throttle'; readonly retryAfterSeconds?: number; readonly message?: string }
  | { readonly kind: 'server-error'; readonly status?: number }
  | { readonly kind: 'overloaded' }
  /** No answer until the client gives up or the referee closes. */
  | { readonly kind: 'hang' }
  /** The connection breaks after this many events of a stream, or half of a whole answer. */
  | { readonly kind: 'cut-stream'; readonly afterEvents?: number }
  /** An error event in the middle of a stream that began with 200. */
  | { readonly kind: 'error-event'; readonly afterEvents?: number }
  /** A gateway in front refuses the body with a page of its own. */
  | { readonly kind: 'html-413' }
  /** The front of the prompt is dropped until it fits, without a word, as local servers do. */
  | { readonly kind: 'truncate-front' }

/** Which requests a fault hits: by their number from 1, all requests counted. */
export interface PlannedFault {
  readonly on: number | readonly number[] | 'every'
  readonly fault: Fault
}

export type FaultPlan = readonly PlannedFault[] | ((number: number) => Fault | undefined)

/**
 * `on`: as the vendor reports it. `off`: never. `zero`: zeros. `late`: each answer carries the numbers of the one before it.
 * `stream-end`: a stream says nothing before its last event.
 */
export type UsageMode = 'on' | 'off' | 'zero' | 'late' | 'stream-end'

export interface RefereeOptions {
  readonly wire: Wire
  /** Tokens that fit, answer included where the wire counts it. @default 200000 */
  readonly window?: number
  /** What the answer may have when the request names no cap. @default 4096 */
  readonly defaultMaxOutput?: number
  /** The hidden truth about tokens: a function, or ratios for the built-in one. */
  readonly tokenizer?: HiddenTokenizer | HiddenTokenizerOptions
  /** The true count of a whole body; without it, the sum of what the tokenizer says about its pieces. */
  readonly countPrompt?: (body: unknown) => number
  /** Seed of ids, ratios and chunk sizes. @default 1 */
  readonly seed?: number
  readonly script?: Script
  readonly faults?: FaultPlan
  /** @default 'on' */
  readonly usage?: UsageMode
  /**
   * `truncate-front` answers 200 over a shortened prompt and reports the shortened count. `in-answer` says 200, begins its stream, and
   * refuses inside it; a whole answer is the error with status 200. @default 'reject'
   */
  readonly overflow?: 'reject' | 'truncate-front' | 'in-answer'
  /** Vendor sub-profile of the rules, e.g. `mistral`. */
  readonly profile?: string
  /** Who seals thinking and reasoning; another name refuses these seals. @default 'referee' */
  readonly issuer?: string
  /** Larger bodies get the vendor's 413, or a gateway's page. */
  readonly bodyLimitBytes?: number
  /** @default 'vendor' */
  readonly bodyLimitStyle?: 'vendor' | 'html'
  /** Required from the client when set. */
  readonly apiKey?: string
  /** Secrets by access key id, for APIs whose requests are signed; each signature is checked. */
  readonly accessKeys?: Readonly<Record<string, string>>
  readonly clock?: Clock
  readonly cache?: Partial<CacheRule>
  /** Splits conversations that share a referee; prefixes are compared within a lane. @default one lane */
  readonly laneOf?: (request: RefereeRequest, body: unknown) => string
  /** Cuts the byte stream into pieces of 1 to this many bytes, so that events and characters break. */
  readonly chunkBytes?: number
  /** Awaited before each event of a stream; a test that owns the promise owns the pace. */
  readonly pace?: (event: number) => Promise<void> | void
  /** Sends a keep-alive before each n-th event. @default off */
  readonly keepAliveEvery?: number
  readonly models?: readonly string[]
}

export type Wire = WireFormat

export interface RefereeRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
  readonly signal?: AbortSignal
}

export interface RefereeResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** Ends with an error when the connection is cut. */
  readonly body: AsyncIterable<Uint8Array>
}

/** What a path asks for. Gemini names the model and the streaming in it. */
export interface Route {
  readonly kind: 'generate' | 'count' | 'models' | 'compact'
  readonly model?: string
  readonly stream?: boolean
}

/**
 * A piece of the prompt in the order the provider caches it: tools, system, messages. `key` decides whether two prompts
 * share it; cache marks are not part of it, since moving a mark does not change the prompt.
 */
export interface Segment {
  readonly path: string
  readonly section: 'tools' | 'system' | 'messages'
  readonly key: string
  /** What the tokenizer counts. */
  readonly text: string
  /** Tokens beside the text: pictures, hidden reasoning, the frame around a message. */
  readonly extraTokens: number
  readonly mark?: 'short' | 'long'
}

export interface CountedSegment extends Segment {
  readonly tokens: number
}

/** What the referee needs to know from a body, whatever its wire. */
export interface RequestFacts {
  readonly model: string
  readonly stream: boolean
  /** The request's own cap on the answer. */
  readonly maxOutput: number | undefined
  readonly segments: readonly Segment[]
  readonly tools: readonly string[]
  /** A streaming client asked for usage; wires that always report leave it out. */
  readonly asksUsage?: boolean
  /** The window that the request asks for, on wires where it can. */
  readonly window?: number
  /** Settings that split the cached messages without being text, e.g. tool choice. */
  readonly cacheSalt?: string
}

/** Rules that need the issuer's memory: signatures, bindings, stored responses. */
export interface Verification {
  readonly violations: readonly Violation[]
  /** Paths of blocks that the provider takes out instead of refusing them. */
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
  /** Sent instead of the dialect's own error body: sub-profiles have other shapes. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Numbers of a request that does not fit. */
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
  /** Unique per exchange and the same in every run. */
  readonly id: (prefix: string, part?: number) => string
  readonly issuer: Issuer
  readonly countTokens: (text: string) => number
  readonly inputTokens: number
  readonly usage: Usage | undefined
  /** A stream reports nothing before its last event. */
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

/** What one wire says and how; everything else about a referee is the same for all. */
export interface Dialect {
  readonly wire: Wire
  /** How its streams travel. @default as its wire's do */
  readonly framing?: Framing
  route(method: string, path: string): Route | undefined
  check(body: unknown, options: RuleOptions): readonly Violation[]
  read(body: Fields, route: Route, memory: ReadonlyMap<string, unknown>): RequestFacts
  /** Complains about headers. */
  authorise(
    request: RefereeRequest,
    apiKey: string | undefined,
    accessKeys?: RefereeOptions['accessKeys'],
  ): Failure | undefined
  verify?(context: VerifyContext): Verification
  overflow(facts: OverflowFacts): Failure
  error(failure: Failure, id: string): unknown
  /** An error in the middle of a stream. @default the same error as data */
  errorEvent?(failure: Failure, id: string): StreamEvent
  /** How an answer that said 200 takes it back: whole, and as the events that stand before any content. @default the error alone */
  refuseInside?(failure: Failure, id: string, nowSeconds: number): Rendered
  /** The answer, whole and as events. */
  render(context: RenderContext): Rendered
  count(tokens: number): unknown
  models(ids: readonly string[], window: number): unknown
  /** Sent between events to keep the connection open. */
  readonly keepAlive: string
  readonly cache: CacheRule
  /** What it answers when it has too much to do. @default 503 */
  readonly overloadedStatus?: number
  /** Whether errors begin with the path that they are about. */
  readonly namesPaths?: boolean
  /** What happens to a prompt that does not fit. @default 'reject' */
  readonly overflows?: 'reject' | 'truncate-front'
  /** Which tokens must fit into the window. */
  readonly fits: 'input-plus-output' | 'input'
}

export interface CacheRule {
  readonly mode: 'marks' | 'automatic'
  readonly minimumTokens: number
  /** Cached lengths are multiples of this. */
  readonly blockTokens: number
  readonly shortTtlSeconds: number
  readonly longTtlSeconds: number
}
