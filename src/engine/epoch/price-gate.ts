import type { EpochPrice } from '../../core/events.ts'
import type { Item } from '../../core/item.ts'
import { costOfUsage, simulateUsage, type PriceModel } from '../../core/price.ts'
import type { PrepareContext, View } from '../prepare/context.ts'
import { tokensOf } from '../prepare/counting.ts'

export interface QuoteInput {
  /** Tokens of the view as it is, of the view under the epoch, and of what both begin with. */
  readonly before: number
  readonly after: number
  readonly common: number
  readonly expectedCalls: number
  /** Since the last call; the provider forgets its cache in time, and a cold cache has nothing to lose. @default 0 */
  readonly elapsedSeconds?: number
}

/** Fewer calls than this are not worth counting on; a session that lasted long is expected to last half as long again. */
const LEAST_CALLS = 5

export const expectedCallsOf = (callsSoFar: number): number => Math.max(LEAST_CALLS, Math.floor(callsSoFar / 2))

/**
 * What the next calls cost with and without an epoch, input only: the answers cost the same either way. An epoch throws the cache behind its first edit away, and makes every later call smaller.
 */
export function quoteEpoch(input: QuoteInput, price: PriceModel): EpochPrice {
  const { before, after, common, expectedCalls, elapsedSeconds = 0 } = input
  const call = (tokens: number, commonPrefixTokens: number, elapsed = 0): number =>
    costOfUsage(simulateUsage({ tokens, commonPrefixTokens, outputTokens: 0, elapsedSeconds: elapsed }, price), price)
  const later = Math.max(0, expectedCalls - 1)
  return {
    expectedCalls,
    keepUsd: call(before, before, elapsedSeconds) + later * call(before, before),
    epochUsd: call(after, common, elapsedSeconds) + later * call(after, after),
  }
}

export interface PriceGate {
  /** False, with an event, when the epoch would cost more than it saves. */
  accepts(planned: View): boolean
  /** The numbers of the last plan. */
  quote(): EpochPrice | undefined
}

/** Undefined where the policy has no gate or the price is not known: then high water alone decides. */
export function priceGate(context: PrepareContext, before: View): PriceGate | undefined {
  const { deps, branch, target, conversation, emit } = context
  const { price } = deps.catalogue.resolve(target.model).info
  if (deps.policy.priceGate !== true || price === undefined) return undefined
  const expectedCalls = context.expectedCalls ?? expectedCallsOf(callsIn(conversation.items))
  const { measured } = branch.log
  const elapsedSeconds = measured === undefined ? 0 : Math.max(0, deps.clock.now() - measured.at) / 1000
  let quote: EpochPrice | undefined
  return {
    accepts(planned) {
      quote = quoteEpoch(
        {
          before: before.load.count.tokens,
          after: planned.load.count.tokens,
          common: commonTokens(context, before, planned),
          expectedCalls,
          elapsedSeconds,
        },
        price,
      )
      const pays = quote.epochUsd < quote.keepUsd
      if (!pays) emit({ type: 'epoch-deferred', ...quote })
      return pays
    },
    quote: () => quote,
  }
}

/** Model calls that the transcript shows: the same in every process that sees it. */
function callsIn(items: readonly Item[]): number {
  return items.filter((item, i) => item.role === 'assistant' && items[i - 1]?.role !== 'assistant').length
}

function commonTokens(context: PrepareContext, before: View, planned: View): number {
  const count = tokensOf(context)
  const { head, tools, framing } = before.measurement.parts
  let tokens = head + tools + framing
  for (const [i, item] of before.conversation.items.entries()) {
    const other = planned.conversation.items[i]
    if (other === undefined || other.message !== item.message || other.id !== item.id || other.text !== item.text) break
    tokens += count(item)
  }
  return Math.min(tokens, planned.load.count.tokens)
}
