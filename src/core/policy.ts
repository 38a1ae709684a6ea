/**
 * A policy is data: which steps run in which order, with which numbers. The engine interprets it; nothing here runs.
 * Fractions are of the limit (window - buffer - output reserve), not of the window.
 */
export interface Policy {
  readonly name: string
  /** Reduction starts when the load's upper bound is above `high * limit`, and aims at `low * limit`. */
  readonly water: { readonly high: number; readonly low: number; readonly warn: number }
  readonly buffer: BufferRule
  readonly intake: IntakeRule
  readonly cascade: readonly CascadeStep[]
  /** Bounds on one reduction. */
  readonly bounds: { readonly passes: number; readonly summariserCalls: number; readonly timeoutMs: number }
}

/** `fraction` of the window, at least `min`, at most `max` tokens. */
export interface BufferRule {
  readonly fraction: number
  readonly min: number
  readonly max: number
}

/** What happens to a result before it is sent for the first time. */
export interface IntakeRule {
  /** Results whose upper bound is above this share of the limit are shown as preview + handle. */
  readonly maxShare: number
  /** Tokens that such a preview may take, as a share of the limit. */
  readonly previewShare: number
}

export type CascadeStep =
  | { readonly step: 'strip-reasoning' }
  | { readonly step: 'collapse-duplicates'; readonly minTokens: number }
  | { readonly step: 'offload-results'; readonly keep: number; readonly minTokens: number }
  | { readonly step: 'fold'; readonly keepShare: number; readonly digestShare: number }
  | { readonly step: 'squeeze'; readonly minTokens: number }
  | { readonly step: 'final' }
