import type { Clock } from '../../ports/clock.ts'
import type { Script } from './brain.ts'
import type { FaultPlan } from './fault.ts'
import type { HiddenTokenizer, HiddenTokenizerOptions } from './tokenizer.ts'
import type { CacheRule, RefereeRequest, Wire } from './types.ts'

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
