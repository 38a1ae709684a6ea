import { costOfUsage } from '../../core/price.ts'
import { addUsage, isKnownUsage, NO_USAGE } from '../../core/usage.ts'
import { dollars, grouped, plural, short } from '../../util/numbers.ts'
import { callRow, compactionsOf, missesOf, type PriceOf } from './figures.ts'
import type { FoldedLog } from './log.ts'
import type { Composition, SentItem } from './parts.ts'

/* Where a session's tokens went, and what would have made it cheaper: sums over its log, with the arithmetic. */

export interface Spent {
  /** Kinds of content by the tokens of all prompts, the largest first. */
  readonly kinds: readonly SpentKind[]
  /** The items that took most. */
  readonly largest: readonly SpentItem[]
  /** What was read more than once. */
  readonly again: readonly SpentAgain[]
  readonly changes: readonly Change[]
}

export interface SpentKind {
  readonly name: string
  /** In all prompts together. */
  readonly tokens: number
  readonly share: number
  readonly usd?: number
}

export interface SpentItem extends SentItem {
  readonly usd?: number
}

export interface SpentAgain {
  readonly target: string
  readonly reads: number
  readonly sentTokens: number
  readonly usd?: number
}

/** What a user may change, with what it would have brought in this session. */
export interface Change {
  readonly text: string
  /** How the figure came about. */
  readonly why: string
  /** Saved, in dollars; less than nothing for what costs more and avoids compactions. */
  readonly usd: number
  /** Lines for a settings file, or the window to compare with. */
  readonly setting?: string
  readonly window?: number
}

const MOST_ITEMS = 12
const MOST_AGAIN = 6
const MOST_CHANGES = 3

export function spentOf(log: FoldedLog, composition: Composition, priceOf: PriceOf): Spent {
  const items = composition.itemsSent()
  const perToken = dollarsPerToken(log, priceOf)
  const usdOf = (tokens: number): number | undefined => (perToken === undefined ? undefined : tokens * perToken)
  const again = readAgain(items, usdOf)
  const changes = [...previewed(log, items, perToken), ...expired(log), ...widened(log, priceOf)]
  return {
    kinds: kindsOf(log, composition, usdOf),
    largest: items
      .toSorted((a, b) => b.sentTokens - a.sentTokens)
      .slice(0, MOST_ITEMS)
      .map((item) => ({
        ...item,
        tokens: Math.round(item.tokens),
        sentTokens: Math.round(item.sentTokens),
        usd: usdOf(item.sentTokens),
      })),
    again: again.slice(0, MOST_AGAIN),
    changes: changes.toSorted((a, b) => b.usd - a.usd).slice(0, MOST_CHANGES),
  }
}

/** What a prompt token cost on average, cache reads included; undefined without a price. */
function dollarsPerToken({ calls }: FoldedLog, priceOf: PriceOf): number | undefined {
  let [usage, usd] = [NO_USAGE, 0]
  for (const call of calls) {
    const price = priceOf(call.model)
    if (price === undefined || call.purpose !== 'turn' || !isKnownUsage(call.usage)) continue
    usage = addUsage(usage, call.usage)
    usd += costOfUsage({ ...call.usage, output: 0 }, price)
  }
  return usage.input === 0 ? undefined : usd / usage.input
}

function kindsOf(
  { calls }: FoldedLog,
  composition: Composition,
  usdOf: (tokens: number) => number | undefined,
): readonly SpentKind[] {
  const sums = new Map<string, number>()
  for (const call of calls) {
    if (call.purpose !== 'turn') continue
    for (const [name, tokens] of composition.partsOf(call, callRow(call).sent))
      sums.set(name, (sums.get(name) ?? 0) + tokens)
  }
  const all = [...sums.values()].reduce((sum, tokens) => sum + tokens, 0)
  return Array.from(sums, ([name, tokens]) => ({
    name,
    tokens: Math.round(tokens),
    share: all === 0 ? 0 : tokens / all,
    usd: usdOf(tokens),
  })).sort((a, b) => b.tokens - a.tokens)
}

/** Results of equal calls: the older ones were sent beside the newer. */
function readAgain(items: readonly SentItem[], usdOf: (tokens: number) => number | undefined): readonly SpentAgain[] {
  const groups = new Map<string, SentItem[]>()
  for (const item of items) {
    if (item.kind !== 'result' || item.target === undefined) continue
    const key = `${item.tool ?? ''} ${item.target}`
    groups.set(key, [...(groups.get(key) ?? []), item])
  }
  return [...groups.values()]
    .filter((group) => group.length > 1)
    .map((group) => {
      const sentTokens = Math.round(
        group.slice(0, -1).reduce((sum, one, at) => {
          const both = Math.min(one.timesSent, group[at + 1]!.timesSent)
          return sum + (one.timesSent === 0 ? 0 : (one.sentTokens / one.timesSent) * both)
        }, 0),
      )
      return { target: group[0]!.target!, reads: group.length, sentTokens, usd: usdOf(sentTokens) }
    })
    .filter(({ sentTokens }) => sentTokens > 0)
    .sort((a, b) => b.sentTokens - a.sentTokens)
}

/** A result above this is worth a preview; what is left of it then. */
const PREVIEW_FROM = 8_000
const PREVIEW = 1_000
/** Savings below a cent are not worth a line. */
const LEAST_USD = 0.01

function previewed({ calls }: FoldedLog, items: readonly SentItem[], perToken: number | undefined): readonly Change[] {
  const large = items.filter(
    ({ kind, tokens, timesSent }) => kind === 'result' && tokens > PREVIEW_FROM && timesSent > 1,
  )
  const [most] = large.toSorted((a, b) => b.sentTokens - a.sentTokens)
  const limit = callRow(calls.at(-1)!).limit ?? 0
  if (most === undefined || perToken === undefined || limit === 0) return []
  const saved = large.reduce((sum, one) => sum + Math.max(0, one.sentTokens - PREVIEW * one.timesSent), 0)
  const usd = saved * perToken
  const share = (PREVIEW_FROM / limit).toFixed(3)
  if (usd < LEAST_USD) return []
  return [
    {
      text: `${most.target ?? most.tool ?? 'A result'} was sent ${plural(most.timesSent, 'time')}, ${short(most.sentTokens)} tokens, ${dollars(most.sentTokens * perToken)}. A preview of results above ${short(PREVIEW_FROM)} tokens would save ${dollars(usd)}.`,
      why: `${plural(large.length, 'result')} above ${grouped(PREVIEW_FROM)} tokens: ${short(saved)} fewer tokens sent, at ${dollars(perToken * 1_000_000)} a million`,
      usd,
      setting: `override:\n  intake:\n    maxShare: ${share}\n`,
    },
  ]
}

function expired(log: FoldedLog): readonly Change[] {
  const own = missesOf(log).filter(({ cause }) => cause === 'expiry')
  const usd = own.reduce((sum, miss) => sum + (miss.usd ?? 0), 0)
  if (usd < LEAST_USD) return []
  const tokens = own.reduce((sum, miss) => sum + miss.tokens, 0)
  return [
    {
      text: `The provider's cache had expired before ${plural(own.length, 'call')}. A lifetime of one hour would save up to ${dollars(usd)}.`,
      why: `${short(tokens)} tokens were paid in full that could have been read from the cache`,
      usd,
      setting: '"cache_control": {"type": "ephemeral", "ttl": "1h"}\n',
    },
  ]
}

const WINDOWS = [64_000, 128_000, 200_000, 400_000, 1_000_000]

/** A larger window sends more and compacts less. */
function widened(log: FoldedLog, priceOf: PriceOf): readonly Change[] {
  const rows = compactionsOf(log).filter(({ undone }) => !undone)
  const turns = log.calls.map(callRow).filter(({ purpose }) => purpose === 'turn')
  const last = turns.at(-1)
  const price = priceOf(last?.model ?? '')
  if (rows.length === 0 || last?.window === undefined || last.limit === undefined || price === undefined) return []
  const room = last.window - last.limit
  const wholeAt = (call: number): number => turns.find(({ number }) => number >= call)?.whole ?? 0
  for (const window of WINDOWS.filter((one) => one > last.window!)) {
    const limit = window - room
    const avoided = rows.filter(({ beforeCall }) => wholeAt(beforeCall) <= limit).length
    if (avoided === 0) continue
    const more = turns.reduce((sum, { sent, whole }) => sum + Math.max(0, Math.min(whole, limit) - sent), 0)
    const usd = (more * (price.cacheRead ?? price.input)) / 1_000_000
    return [
      {
        text: `A window of ${short(window)} avoids ${avoided} of ${plural(rows.length, 'compaction')}, +${dollars(usd, 2)}.`,
        why: `${short(more)} more tokens in prompts, read from the cache`,
        usd: -usd,
        window,
      },
    ]
  }
  return []
}
