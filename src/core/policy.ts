/**
 * A policy is data: which steps run in which order, with which numbers. The engine interprets it; nothing here runs.
 * Shares are of the limit (window - buffer - output reserve), not of the window.
 */
export interface Policy {
  readonly name: string
  readonly water: WaterRule
  readonly buffer: BufferRule
  readonly intake: IntakeRule
  /** Tried in order until the load is at low water; an epoch is the sum of what they propose. */
  readonly cascade: readonly CascadeStep[]
}

/** Reduction starts when the load's upper bound is above `high * limit`, and aims at `low * limit`. */
export interface WaterRule {
  readonly high: number
  readonly low: number
  /** A `context-warning` event is sent from here on. */
  readonly warn: number
  /** An unforced epoch waits until this share of the limit has come in since the last one, so that it cannot repeat in vain. */
  readonly rest: number
}

/** `fraction` of the window, at least `min`, at most `max` tokens. */
export interface BufferRule {
  readonly fraction: number
  readonly min: number
  readonly max: number
}

/** What happens to a result before it is sent for the first time. */
export interface IntakeRule {
  /** Results above this share of the limit are shown as preview + handle. */
  readonly maxShare: number
  /** What such a preview may take, as a share of the limit. */
  readonly previewShare: number
}

export type CascadeStep =
  /** Folds old steps into one message: carried facts and a digest of verbatim lines. The newest steps stay whole. */
  | { readonly step: 'fold'; readonly tailShare: number; readonly summaryShare: number }
  /** Shows the largest items that are left as preview + handle, down to `floorTokens` each. */
  | { readonly step: 'squeeze'; readonly floorTokens: number }
