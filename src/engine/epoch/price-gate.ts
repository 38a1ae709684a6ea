import { HOUR } from '../../core/cache.ts'
import { declaredCount } from '../../core/epochs.ts'
import type { EpochPrice } from '../../core/events.ts'
import type { Item } from '../../core/item.ts'
import { costOfUsage, type PriceModel, ratesFor, simulateUsage } from '../../core/price.ts'
import { standingCache } from '../prepare/cache.ts'
import type { PrepareContext, Standing, View } from '../prepare/context.ts'
import { fixedCountOf, tokensOf } from '../prepare/counting.ts'
import { turnsUntil } from '../session/branch.ts'
import { highWater, lowWater, planRoom } from './thresholds.ts'

export interface QuoteInput {
  /** Tokens of the view as it is, of the view under the epoch, and of what both begin with. */
  readonly before: number
  readonly after: number
  readonly common: number
  readonly expectedCalls: number
  /** The provider has forgotten the prompt: a cold cache has nothing to lose. @default false */
  readonly isCold?: boolean
  /** What is written is kept for an hour or more, and paid for as that. @default by model */
  readonly life?: PriceModel['cacheLife']
}

/** Fewer calls than this are not worth counting on; a session that lasted long is expected to last half as long again. */
const LEAST_CALLS = 5

export const expectedCallsOf = (callsSoFar: number): number => Math.max(LEAST_CALLS, Math.floor(callsSoFar / 2))

/**
 * What the next calls cost with and without an epoch, input only: the answers cost the same either way. An epoch throws the cache behind its first edit away, and makes every later call smaller.
 */
export function quoteEpoch(input: QuoteInput, price: PriceModel): EpochPrice {
  const { before, after, common, expectedCalls, isCold = false, life } = input
  const call = (tokens: number, commonPrefixTokens: number, elapsedSeconds = 0): number =>
    costOfUsage(simulateUsage({ tokens, commonPrefixTokens, outputTokens: 0, elapsedSeconds, life }, price), price)
  const later = Math.max(0, expectedCalls - 1)
  const age = isCold ? Infinity : 0
  return {
    expectedCalls,
    keepUsd: call(before, before, age) + later * call(before, before),
    epochUsd: call(after, common, age) + later * call(after, after),
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
  const { deps, target, emit } = context
  const { price } = deps.catalogue.resolve(target.model).info
  if (deps.policy.priceGate !== true || price === undefined) return undefined
  const cache = standingCache(context)
  let quote: EpochPrice | undefined
  return {
    accepts(planned) {
      quote = quoteEpoch(
        {
          before: before.load.count.tokens,
          after: planned.load.count.tokens,
          common: commonTokens(context, before, planned),
          expectedCalls: expectedCalls(context),
          isCold: cache?.state === 'cold',
          life: cache?.life,
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

/** A forced compaction within so many calls is worth making now, where the cache has nothing to lose. */
const SOON_CALLS = 5
/** Below this many tokens there is nothing that `thrift` could save. */
const THRIFT_FROM = 40_000
/** So many times its price a compaction has to bring in: a session may end with the next call. */
const MARGIN = 1.5
/** The same for the first: most sessions are short. */
const FIRST_MARGIN = 2
/** A plan that came to nothing is made anew when so much more has come. */
const MORE_AGAIN = 1.1
/** What a compaction on a cold cache takes out at least, as a share of what it leaves: each one loses some of what the next answers need. */
const COLD_GAIN = 0.4

/**
 * Whether a compaction that nothing forces is due, by arithmetic alone: it is asked at every turn, and a plan is made only where the answer is yes.
 * Every call reads what a compaction would take out; once it has cost as much to read that since the last compaction as the next one would cost to
 * write, waiting longer costs more than it saves. That is the same as to expect half as many calls as there were since then, and to compact where it
 * pays back within these.
 */
export function isDue(context: PrepareContext, standing: Standing, { load }: View): boolean {
  const { deps, branch, target, limit } = context
  const { policy } = deps
  const { price } = deps.catalogue.resolve(target.model).info
  if (policy.priceGate !== true || price === undefined) return false
  const cache = standingCache(context)
  const isCold = cache?.state === 'cold'
  const { tokens } = load.count
  if (policy.aim !== 'thrift') {
    const calls = turnsUntil(highWater(policy, limit) - load.count.high, branch.requests.growth)
    return isCold && calls !== undefined && calls <= SOON_CALLS && callsSince(context, standing) > SOON_CALLS
  }
  const { refusedAt } = branch.requests
  if (tokens < THRIFT_FROM || (tokens >= refusedAt && tokens < refusedAt * MORE_AGAIN)) return false
  const fixed = fixedCountOf(context).tokens
  const after = Math.max(
    lowWater(policy, { ...limit, tokens: planRoom(policy, limit, fixed) }, fixed),
    standing.epoch?.after ?? 0,
  )
  const gain = tokens - after
  if (isCold || gain <= 0) return isCold && gain >= COLD_GAIN * after
  const { input, cacheRead = input, cacheWrite = input, cacheWriteLong = cacheWrite } = ratesFor(tokens, price)
  const write = (cache?.life.least ?? 0) >= HOUR ? cacheWriteLong : cacheWrite
  const since = context.expectedCalls ?? expectedCallsOf(callsSince(context, standing))
  const margin = standing.epoch === undefined ? FIRST_MARGIN : MARGIN
  return since * cacheRead * gain >= margin * (write - cacheRead) * (after - fixed)
}

const callsSince = ({ conversation, links }: PrepareContext, { epoch }: Standing): number => {
  const count = epoch === undefined ? 0 : Math.min(declaredCount(epoch), links.length)
  return callsIn(conversation.items.slice(count === 0 ? 0 : links[count - 1]!.index + 1))
}

const expectedCalls = (context: PrepareContext): number =>
  context.expectedCalls ?? expectedCallsOf(callsIn(context.conversation.items))

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
