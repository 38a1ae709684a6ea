import type { Conversation } from '../core/conversation.ts'
import type { Load, Target } from '../core/target.ts'
import type { Measurement, TargetRef } from './meter.ts'
import type { Anchor, Occupancy } from './occupancy.ts'

/** A source design's own arithmetic, in place of measured prompt + estimate. */
export interface DesignArithmetic {
  /** From the design's raw count to real tokens, by what the provider said last. */
  factor(last: Anchor | undefined): number
  /** The formula alone, for a request that is only planned; absent where it needs what a provider said. */
  estimate?(conversation: Conversation, model: string): number
  /** The load by the design's formula. */
  load(input: DesignInput): Occupancy
  /** Our own count where the design's is a guess so far; undefined where the load itself is as good as any. */
  certain(input: DesignInput): Load | undefined
}

/** What a load is worked out from. */
export interface DesignInput {
  readonly target: Target
  /** The target as the meter reads it: with what was learned about its tokenizer. */
  readonly gauge: TargetRef
  readonly conversation: Conversation
  readonly measurement: Measurement
  /** By our own meter: measured prompt plus what came since, where there was one. */
  readonly occupancy: Occupancy
  /** The last measured call on this model. */
  readonly last: Anchor | undefined
  /** The same, if this request continues it under the same epoch. */
  readonly anchor: Anchor | undefined
}
