import type { Conversation } from '../core/conversation.ts'
import { type Count, countFrom, exactly, sumCounts } from '../core/count.ts'
import type { Item } from '../core/item.ts'
import type { Load, Target } from '../core/target.ts'
import { isKnownUsage, type Usage } from '../core/usage.ts'
import type { ClassTokens, Measurement, Meter, TargetRef, TokenClass } from './meter.ts'

/**
 * The last measured call of a branch: what its prompt really was, and how much of the conversation it covered. It belongs to one
 * epoch, since after a rewrite the same items are other bytes.
 */
export interface Anchor {
  readonly epoch?: string
  readonly prompt: number
  readonly output: number
  readonly reasoning: number
  /** Items that the measured request had. */
  readonly items: number
  /** Raw tokens of system text and tools in it: both may change between calls. */
  readonly standing: number
  readonly rawTokens: number
  /** Counted with the exact vocabulary. */
  readonly exact?: true
  /** The provider counted more than the request showed; how much of that the next one holds is unknown. */
  readonly partial?: true
}

/** A load with the part of it that the provider counted itself. */
export interface Occupancy extends Measurement {
  readonly measured?: number
  /** Items at the front that this part covers. */
  readonly measuredItems?: number
  /** Where a design keeps counters, those that the load was worked out from. */
  readonly counters?: DesignCounters
}

/** The counters of the ai-agent design: where the tokens of the next request stand. */
export interface DesignCounters {
  /** Committed conversation: after a response, its whole input and output. */
  readonly current: number
  /** Waiting for the next request. */
  readonly pending: number
  /** Added since the turn began: tool results, replacement texts. */
  readonly fresh: number
  /** Declared tools. Part of `current` once a response measured them. */
  readonly schema: number
  /** For display only: reasoning is inside the output reserve. */
  readonly reasoning: number
}

/**
 * Load of the next request: measured prompt + output of that response + estimate of what came since. Without an anchor of this epoch, or
 * when items that it covered are gone, nothing was measured, and the estimate of the whole stands.
 */
export function occupancy(
  meter: Meter,
  target: TargetRef,
  conversation: Conversation,
  measurement: Measurement,
  anchor: Anchor | undefined,
  epoch?: string,
): Occupancy {
  const { items, format } = conversation
  if (anchor === undefined || anchor.epoch !== epoch || items.length < anchor.items) return measurement
  const since = items.slice(anchor.items)
  const answered = since.slice(0, answerLength(since))
  const reported = reportedAnswer(meter, target, format, answered, anchor)
  const counted = reported === undefined ? since : since.slice(answered.length)
  const { count: fresh, mediaHigh = 0 } = meter.measureItems(target, counted, format)
  const { head, tools } = measurement.parts
  const measured = anchor.prompt + (reported ?? 0)
  // Instructions and tools come with each request, and may be others.
  const change = head + tools - anchor.standing
  const parts = [exactly(measured, 'provider'), fresh, ...(change === 0 ? [] : [exactly(change, 'estimate')])]
  const { tokens, low, high, unsure = 0, source } = sumCounts(parts)
  const isPartial = anchor.partial === true
  return {
    ...measurement,
    count: countFrom(
      Math.round(tokens),
      // What the provider added may be there again or not; what the request shows is there.
      isPartial ? Math.min(Math.floor(low), measurement.count.low) : Math.floor(low),
      Math.ceil(high),
      Math.ceil(unsure),
      isPartial ? 'unknown' : source,
    ),
    mediaHigh,
    measured,
    measuredItems: items.length - counted.length,
  }
}

/**
 * A request whose history the provider holds: what it said about the last prompt and its answer, and all that this one brings. How much of
 * the history it still keeps is its own affair, so only what the request shows is certain.
 */
export function occupancyOfChained(
  meter: Meter,
  target: TargetRef,
  conversation: Conversation,
  measurement: Measurement,
  last: Pick<Anchor, 'prompt' | 'output' | 'standing'> | undefined,
): Occupancy {
  if (last === undefined) return measurement
  // Instructions and tools come with each request, and may be others.
  const measured = last.prompt + last.output + measurement.parts.head + measurement.parts.tools - last.standing
  const { count, mediaHigh = 0 } = meter.measureItems(target, conversation.items, conversation.format)
  return {
    ...measurement,
    count: countFrom(
      Math.round(measured + count.tokens),
      measurement.count.low,
      Math.ceil(measured + count.high),
      count.unsure ?? 0,
      'unknown',
    ),
    measured,
    measuredItems: 0,
    mediaHigh,
  }
}

/** A call that was measured under other edits of the same conversation. */
export interface MeasuredOnce {
  readonly prompt: number
  readonly byClass: ClassTokens
  readonly partial?: true
}

/**
 * A request that was rewritten since it was measured: what it shares with the measured one is known, and only the difference is a
 * guess. That sharpens the count of the whole where much is shared, such as large instructions and tools; where both disagree, the
 * whole stands.
 */
export function occupancyByDifference(
  meter: Meter,
  target: TargetRef,
  conversation: Pick<Conversation, 'items' | 'format'>,
  measurement: Measurement,
  once: MeasuredOnce | undefined,
): Occupancy {
  if (once === undefined) return measurement
  const added: Record<string, number> = {}
  const dropped: Record<string, number> = {}
  for (const name of new Set([...Object.keys(measurement.byClass), ...Object.keys(once.byClass)]) as Set<TokenClass>) {
    const change = (measurement.byClass[name] ?? 0) - (once.byClass[name] ?? 0)
    if (change > 0) added[name] = change
    else if (change < 0) dropped[name] = -change
  }
  const plus = meter.countClasses(target, added)
  const minus = meter.countClasses(target, dropped)
  if (once.partial === true) return withUnseen(measurement, Math.max(0, once.prompt - minus.tokens) + plus.tokens)
  const missed = once.prompt / Math.max(1, meter.countClasses(target, once.byClass).tokens)
  const whole = asMissed(measurement, missed)
  const { count } = whole
  const likely = once.prompt - minus.tokens + plus.tokens
  // What came and what went are off independently.
  const low = Math.max(count.low, likely - Math.hypot(plus.tokens - plus.low, minus.high - minus.tokens))
  const high = Math.min(count.high, likely + Math.hypot(plus.high - plus.tokens, minus.tokens - minus.low))
  if (low > high || high >= count.high) return whole
  const tokens = Math.min(high, Math.max(low, likely))
  return {
    ...measurement,
    count: { tokens: Math.round(tokens), low: Math.floor(low), high: Math.ceil(high), source: 'calibrated' },
    measured: Math.min(high, Math.max(0, once.prompt - minus.low)),
    measuredItems: conversation.items.length,
    mediaHigh: meter.countClasses(target, { media: added['media'] ?? 0 }).high,
  }
}

/** What the same factors missed of the last prompt, they may miss of this one: the bound is no lower than that. */
function asMissed(measurement: Measurement, missed: number): Measurement {
  const { count } = measurement
  const high = Math.ceil(count.tokens * missed)
  return high <= count.high ? measurement : { ...measurement, count: { ...count, high } }
}

/** What the provider adds to each request of a conversation is in none of our counts: the larger number is the likelier one. */
function withUnseen(measurement: Measurement, likely: number): Measurement {
  const { count } = measurement
  if (likely <= count.tokens) return measurement
  const tokens = Math.round(likely)
  return { ...measurement, count: { ...count, tokens, high: Math.max(tokens, count.high), source: 'unknown' } }
}

/** Items of the response itself: they stand first and the model made them. */
export function answerLength(since: readonly Item[]): number {
  const end = since.findIndex((item) => item.role !== 'assistant')
  return end === -1 ? since.length : end
}

/**
 * Tokens of the response as it comes back in the prompt: its reported output, less the reasoning that the client does not send
 * back. Undefined when there is nothing of it, or when the report cannot be true: some clients log the first event's output of
 * one token as if it were the whole.
 */
function reportedAnswer(
  meter: Meter,
  target: TargetRef,
  format: string,
  answered: readonly Item[],
  anchor: Anchor,
): number | undefined {
  if (answered.length === 0 || anchor.output <= 0) return undefined
  const keepsReasoning = answered.some((item) => item.kind === 'reasoning')
  const reported = anchor.output - (keepsReasoning ? 0 : anchor.reasoning)
  const { low, high } = meter.measureItems(target, answered, format).count
  if (reported < low) return undefined
  // More than the answer can be: reasoning that the provider did not itemise and the client does not send back.
  if (!keepsReasoning && reported > high * 1.4 + 60) return undefined
  return reported + meter.perAnswer(target, format)
}

/**
 * A server that cuts the front of a prompt without a word reports fewer tokens than were sent. True when even the lower bound is
 * far above the report; less far, where the count builds on what the same server said before.
 */
export function looksTruncated(measurement: Pick<Measurement, 'count'>, usage: Usage | undefined): boolean {
  const { low, source } = measurement.count
  const share = source === 'calibrated' || source === 'provider' ? 0.9 : 0.7
  return isKnownUsage(usage) && usage.input > 0 && usage.input < low * share
}

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

/** True when the interval does not say on which side of the threshold the load is. */
export const straddles = ({ count }: { readonly count: Count }, threshold: number): boolean =>
  count.low <= threshold && threshold < count.high
