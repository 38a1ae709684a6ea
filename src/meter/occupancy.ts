import type { Conversation } from '../core/conversation.ts'
import { type Count, exactly, sumCounts } from '../core/count.ts'
import type { Item } from '../core/item.ts'
import type { Usage } from '../core/usage.ts'
import type { Measurement, Meter, TargetRef } from './meter.ts'
import { isKnownUsage } from './usage.ts'

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
    ...(epoch !== undefined && { epoch }),
    prompt: usage.input,
    output: usage.output,
    reasoning: usage.reasoning,
    items: conversation.items.length,
    standing: measurement.parts.head + measurement.parts.tools,
    rawTokens: measurement.raw.tokens,
  }
}

/**
 * Load of the next request: measured prompt + output of that response + estimate of what came since. Without an anchor of this
 * epoch, or when items that it covered are gone, the whole is an estimate.
 */
export function occupancy(
  meter: Meter,
  target: TargetRef,
  conversation: Conversation,
  measurement: Measurement,
  anchor: Anchor | undefined,
  epoch?: string,
): Measurement {
  if (anchor === undefined || anchor.epoch !== epoch || conversation.items.length < anchor.items) return measurement
  const since = conversation.items.slice(anchor.items)
  const answer = answerLength(since)
  const answered = since.slice(0, answer)
  const added = since.slice(answer)
  const standing = measurement.parts.head + measurement.parts.tools - anchor.standing
  const count = sumCounts([
    exactly(anchor.prompt, 'provider'),
    answerTokens(meter, target, conversation.format, answered, anchor),
    ...added.map((item) => meter.countItem(target, item, conversation.format)),
    ...(standing === 0 ? [] : [exactly(standing, 'estimate')]),
  ])
  return {
    ...measurement,
    count: { ...count, tokens: Math.round(count.tokens), low: Math.floor(count.low), high: Math.ceil(count.high) },
  }
}

/** Items of the response itself: they stand first and the model made them. */
function answerLength(since: readonly Item[]): number {
  const end = since.findIndex((item) => item.role !== 'assistant')
  return end === -1 ? since.length : end
}

/**
 * The response as it comes back in the prompt. Its reported output is the best number, less the reasoning that the client does
 * not send back; a client that sends back nothing of it (a cut stream) is counted as what it sends.
 */
function answerTokens(
  meter: Meter,
  target: TargetRef,
  format: string,
  answered: readonly Item[],
  anchor: Anchor,
): Count {
  if (answered.length === 0) return exactly(0)
  const keepsReasoning = answered.some((item) => item.kind === 'reasoning')
  const reported = anchor.output - (keepsReasoning ? 0 : anchor.reasoning)
  const counted = sumCounts(answered.map((item) => meter.countItem(target, item, format)))
  // Some clients log the first event's output of one token as if it were the whole.
  return reported < counted.low / 2 ? counted : exactly(reported, 'provider')
}

/**
 * A server that cuts the front of a prompt without a word reports fewer tokens than were sent. True when even the lower bound is
 * far above the report.
 */
export function looksTruncated(measurement: Measurement, usage: Usage | undefined): boolean {
  return isKnownUsage(usage) && usage.input > 0 && usage.input < measurement.count.low * 0.7
}
