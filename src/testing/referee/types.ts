import type { WireFormat } from '../../formats/wires.ts'
import type { RuleOptions, StreamEvent, Violation } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import type { Fields } from '../../core/values.ts'
import type { Answer } from './brain.ts'
import type { Issuer } from './issuer.ts'

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
  /** A streaming client asked for usage; wires that always report say true. */
  readonly asksUsage: boolean
  /** The window that the request asks for, on wires where it can. */
  readonly window?: number
  /** Settings that split the cached messages without being text, e.g. tool choice. */
  readonly cacheSalt: string
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
  route(method: string, path: string): Route | undefined
  check(body: unknown, options: RuleOptions): readonly Violation[]
  read(body: Fields, route: Route, memory: ReadonlyMap<string, unknown>): RequestFacts
  /** Complains about headers. */
  authorise(request: RefereeRequest, apiKey: string | undefined): Failure | undefined
  verify(context: VerifyContext): Verification
  overflow(facts: OverflowFacts): Failure
  error(failure: Failure, id: string): unknown
  /** An error in the middle of a stream. */
  errorEvent(failure: Failure, id: string): StreamEvent
  /** How an answer that said 200 takes it back: whole, and as the events that stand before any content. */
  refuseInside(failure: Failure, id: string, nowSeconds: number): Rendered
  /** The answer, whole and as events. */
  render(context: RenderContext): Rendered
  count(tokens: number): unknown
  models(ids: readonly string[], window: number): unknown
  /** Sent between events to keep the connection open. */
  readonly keepAlive: string
  readonly cache: CacheRule
  /** What it answers when it has too much to do. */
  readonly overloadedStatus: number
  /** Whether errors begin with the path that they are about. */
  readonly namesPaths: boolean
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
