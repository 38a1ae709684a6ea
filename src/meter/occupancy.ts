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

export interface AnchorInput {
  readonly usage: Usage | undefined
  readonly measurement: Measurement
  readonly conversation: Pick<Conversation, 'items'>
  readonly epoch?: string
  /** Summaries, titles and other side calls say nothing about this conversation's size. */
  readonly purpose?: 'turn' | 'summary' | 'extract'
}

/** The anchor after a response; the previous one stays when the response measured nothing. */
export function anchorAfter(previous: Anchor | undefined, input: AnchorInput): Anchor | undefined {
  const { usage, measurement, conversation, epoch, purpose = 'turn' } = input
  if (purpose !== 'turn' || !isKnownUsage(usage) || usage.input === 0) return previous
  return {
    epoch,
    prompt: usage.input,
    output: usage.output,
    reasoning: usage.reasoning,
    items: conversation.items.length,
    standing: measurement.parts.head + measurement.parts.tools,
    rawTokens: measurement.raw.tokens,
  }
}

/** What happened to a conversation since a measured call. */
export interface Growth {
  /** The provider's word: the measured prompt and, where it is to be trusted, the response that came back into the prompt. */
  readonly measured: number
  /** Items at the front that it covers. */
  readonly items: number
  /** The rest, counted: by class before calibration, and as the meter's best number. */
  readonly byClass: ClassTokens
  readonly count: Count
  readonly mediaHigh: number
}

/** Undefined without an anchor of this epoch, or when items that it covered are gone: then nothing was measured. */
export function growthSince(
  meter: Meter,
  target: TargetRef,
  conversation: Conversation,
  measurement: Measurement,
  anchor: Anchor | undefined,
  epoch?: string,
): Growth | undefined {
  if (anchor === undefined || anchor.epoch !== epoch || conversation.items.length < anchor.items) return undefined
  const since = conversation.items.slice(anchor.items)
  const answered = since.slice(0, answerLength(since))
  const reported = reportedAnswer(meter, target, conversation.format, answered, anchor)
  const counted = reported === undefined ? since : since.slice(answered.length)
  const { count, byClass, mediaHigh = 0 } = meter.measureItems(target, counted, conversation.format)
  const standing = measurement.parts.head + measurement.parts.tools - anchor.standing
  return {
    measured: anchor.prompt + (reported ?? 0),
    items: conversation.items.length - counted.length,
    mediaHigh,
    byClass:
      standing === 0 && byClass.fixed !== undefined ? byClass : { ...byClass, fixed: (byClass.fixed ?? 0) + standing },
    count: standing === 0 ? count : sumCounts([count, exactly(standing, 'estimate')]),
  }
}

/** A load with the part of it that the provider counted itself. */
export interface Occupancy extends Measurement {
  readonly measured?: number
  /** Items at the front that this part covers. */
  readonly measuredItems?: number
  /** Where a design keeps counters, those that the load was worked out from. */
  readonly counters?: Counters
}

/**
 * Load of the next request: measured prompt + output of that response + estimate of what came since; without a measured call of
 * this epoch, the estimate of the whole.
 */
export function occupancy(
  meter: Meter,
  target: TargetRef,
  conversation: Conversation,
  measurement: Measurement,
  anchor: Anchor | undefined,
  epoch?: string,
): Occupancy {
  const growth = growthSince(meter, target, conversation, measurement, anchor, epoch)
  if (growth === undefined) return measurement
  const { tokens, low, high, unsure = 0, source } = sumCounts([exactly(growth.measured, 'provider'), growth.count])
  const count = countFrom(
    Math.round(tokens),
    // What the provider added may be there again or not; what the request shows is there.
    anchor?.partial === true ? Math.min(Math.floor(low), measurement.count.low) : Math.floor(low),
    Math.ceil(high),
    Math.ceil(unsure),
    anchor?.partial === true ? 'unknown' : source,
  )
  const { bytes, raw, byClass, parts } = measurement
  const { measured, items: measuredItems, mediaHigh } = growth
  return { count, mediaHigh, bytes, raw, byClass, parts, measured, measuredItems }
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
  const ours = conversation.items.filter(({ message }) => message < 0)
  const unseen = meter.measureItems(target, ours, conversation.format).count.tokens
  const missed = once.prompt / Math.max(1, meter.countClasses(target, once.byClass).tokens)
  const whole = asMissed(withUnmeasured(measurement, unseen), missed)
  const { count } = whole
  const shared = Math.max(0, once.prompt - minus.low)
  // By class, what we put in and what it stands for are the same, and no difference.
  const slack = unseen * UNMEASURED_SPREAD
  const low = Math.max(count.low, once.prompt - minus.high + plus.low - slack)
  const high = Math.min(count.high, shared + plus.high + slack)
  if (low > high || high >= count.high) return whole
  const tokens = Math.min(high, Math.max(low, once.prompt - minus.tokens + plus.tokens))
  return {
    ...measurement,
    count: { tokens: Math.round(tokens), low: Math.floor(low), high: Math.ceil(high), source: 'calibrated' },
    measured: Math.min(high, shared),
    measuredItems: conversation.items.length,
    mediaHigh: meter.countClasses(target, { media: added['media'] ?? 0 }).high,
  }
}

/** Text of ours has lines of another make than those that the factors were learned from; no answer has counted any of it yet. */
const UNMEASURED_SPREAD = 0.12

function withUnmeasured(measurement: Measurement, tokens: number): Measurement {
  const { count } = measurement
  const spread = (count.high - count.tokens) / Math.max(1, count.tokens)
  if (tokens === 0 || spread >= UNMEASURED_SPREAD) return measurement
  const more = tokens * (UNMEASURED_SPREAD - spread)
  return {
    ...measurement,
    count: { ...count, low: Math.max(0, Math.floor(count.low - more)), high: Math.ceil(count.high + more) },
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

/** The counters of the ai-agent design, as a view: a session shows where its tokens stand between two requests. */
export interface Counters {
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
  readonly schemaMeasured: boolean
}

export const startCounters = (seed: number, schema = 0): Counters => ({
  current: 0,
  pending: seed,
  fresh: 0,
  schema,
  reasoning: 0,
  schemaMeasured: false,
})

export const addFresh = (counters: Counters, tokens: number): Counters => ({
  ...counters,
  fresh: counters.fresh + Math.max(0, tokens),
})

/** Tools changed; what a response had measured of the old ones is out of date by the difference. */
export function setSchema(counters: Counters, schema: number): Counters {
  const change = counters.schemaMeasured ? schema - counters.schema : 0
  return { ...counters, schema, pending: Math.max(0, counters.pending + change) }
}

/** A request leaves: everything is committed at once, so that a retry commits nothing twice. */
export function commitRequest(counters: Counters): Counters {
  return { ...counters, current: counters.current + counters.pending + counters.fresh, pending: 0, fresh: 0 }
}

/** A response came: the measured numbers replace the committed estimate. Unknown usage changes nothing. */
export function settleResponse(counters: Counters, usage: Usage | undefined): Counters {
  if (!isKnownUsage(usage)) return counters
  return {
    ...counters,
    current: usage.input + usage.output,
    pending: 0,
    reasoning: usage.reasoning,
    schemaMeasured: true,
  }
}

/** The size of the next request, `extra` on top; the schema counts once, measured or estimated. */
export function projectedTokens(counters: Counters, extra = 0): number {
  const schema = counters.schemaMeasured ? 0 : counters.schema
  return counters.current + counters.pending + counters.fresh + schema + extra
}

/** Share of the window in percent, as it is shown to the model: never above 100. */
export function percentFull(counters: Counters, window: number): number {
  return window <= 0 ? 100 : Math.min(100, Math.round((projectedTokens(counters) / window) * 100))
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
