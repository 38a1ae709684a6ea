import type { Count } from './count.ts'

/** A model at an endpoint that a request can go to. */
export interface Target {
  readonly model: string
  /** The provider as the configuration names it: the path prefix behind a proxy. */
  readonly provider?: string
  /** Base URL or another name of the endpoint; windows and calibration are learned per endpoint. */
  readonly endpoint?: string
  /** Overrides the catalogue. */
  readonly window?: number
  readonly maxOutputTokens?: number
  /** Limits learned from this endpoint; used where no window is set. */
  readonly learned?: LearnedLimit
  /** The window for one conversation since one of its requests was refused; stronger than a window that is set. */
  readonly heldWithin?: number
  /** The vendor refuses prompts that are too long; other servers may cut them silently. @default the catalogue's, without an endpoint */
  readonly refusesOverflow?: boolean
}

export interface LearnedLimit {
  readonly window?: number
  readonly bodyBytes?: number
  /** A prompt and an output cap that are larger than the window together were refused. */
  readonly holdsOutput?: true
}

/** What fits a target: limit = window - buffer - output reserve. */
export interface Limit {
  readonly window: number
  readonly buffer: number
  readonly outputReserve: number
  readonly tokens: number
  /** The body may not be larger than this many bytes. */
  readonly bytes: number
  readonly source: LimitSource
}

/** Where compaction starts, and the load that it aims at, in tokens. */
export interface Thresholds {
  readonly high: number
  readonly low: number
}

/** The source of the window size, strongest first. */
export type LimitSource = 'learned' | 'config' | 'catalogue' | 'default'

/** The size of the view, instructions and tools included. */
export interface Load {
  readonly count: Count
  readonly bytes: number
}

export type VerdictKind = 'proceed' | 'skip' | 'final' | 'halt'

/** The decision for one target, with the numbers that led to it. */
export interface Verdict {
  readonly kind: VerdictKind
  readonly target: Target
  readonly reason: string
  readonly projected: number
  readonly limit: number
  /** limit - projected; negative when it does not fit. */
  readonly margin: number
  /** The halt may end soon: running calls have reserved the rest of a budget. */
  readonly retryable?: true
}
