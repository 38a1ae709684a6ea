import type { Count } from './count.ts'

/** A place a request can go to. */
export interface Target {
  readonly model: string
  /** Whose model, as the configuration names it: the path prefix behind a proxy. */
  readonly provider?: string
  /** Base URL or another name of the endpoint; windows and calibration are learned per endpoint. */
  readonly endpoint?: string
  /** Overrides the catalogue. */
  readonly window?: number
  readonly maxOutputTokens?: number
  /** What this endpoint taught; it holds where nobody named a window. */
  readonly learned?: LearnedLimit
  /** What one conversation is kept within since a request of it was refused; holds over a window that somebody named, too. */
  readonly heldWithin?: number
  /** A vendor that refuses what is too long; others may cut it without a word. @default where no endpoint is named, what the catalogue knows */
  readonly refusesOverflow?: boolean
}

export interface LearnedLimit {
  readonly window?: number
  readonly bodyBytes?: number
}

/** What fits on a target: limit = window - buffer - output reserve. */
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

/** Who said how large the window is, strongest first. */
export type LimitSource = 'learned' | 'config' | 'catalogue' | 'default'

/** The view's size: tokens and bytes, system and tools included. */
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
  /** A halt that may be over soon: calls under way hold what is left of a budget. */
  readonly retryable?: true
}
