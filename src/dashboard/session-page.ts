import { PlimsollError } from '../core/errors.ts'
import {
  type CallRow,
  callRow,
  compactionsOf,
  type PriceOf,
  recordOf,
  removalsOf,
  troublesOf,
} from '../meter/session/figures.ts'
import type { LoggedCall } from '../meter/session/log.ts'
import type { Composition } from '../meter/session/parts.ts'
import type { CompactionPage, Rows, Series, SessionPage, SessionSummary } from './page-types.ts'
import type { ReadLog } from './stored-sessions.ts'

/* A session for the page, in pieces: the summary, its calls in columns or pages, one compaction at a time. */

export function sessionPageOf({ log }: ReadLog, summary: SessionSummary, priceOf: PriceOf): SessionPage {
  const { startedAt, updatedAt, pins, items } = log
  return {
    ...summary,
    startedAt,
    updatedAt,
    compactionList: compactionsOf(log, priceOf, summary.replay !== undefined),
    troubles: troublesOf(log),
    removals: removalsOf(log).length,
    pins: [...pins],
    items: items.length,
    policies: [...new Set(log.epochs.map(({ epoch }) => epoch.policy))],
  }
}

/** Calls after the one with this number. */
export function seriesOf({ log, composition }: Pick<ReadLog, 'log' | 'composition'>, after: number): Series {
  const agents = [...new Set(log.calls.map(({ agent = 'main' }) => agent))]
  const logged = log.calls.slice(after).filter(({ purpose }) => purpose === 'turn')
  const calls = logged.map(callRow)
  const parts = logged.map((call, at) => composition().partsOf(call, calls[at]!.sent))
  const names = [...new Set(parts.flatMap((each) => [...each.keys()]))]
  const column = <T>(of: (call: CallRow) => T): T[] => calls.map(of)
  return {
    calls: column(({ number }) => number),
    agents: column(({ agent }) => agents.indexOf(agent)),
    sent: column(({ sent }) => sent),
    measured: column(({ isMeasured }) => isMeasured),
    whole: column(({ whole }) => whole),
    limit: column(({ limit = null }) => limit),
    window: column(({ window = null }) => window),
    high: column(({ thresholds }) => thresholds?.high ?? null),
    low: column(({ thresholds }) => thresholds?.low ?? null),
    cached: column(({ usage }) => usage?.cacheRead ?? null),
    missed: column(({ cache }) => (cache?.miss?.usd === undefined ? null : [cache.miss.usd, cache.miss.cause])),
    parts: Object.fromEntries(names.map((name) => [name, parts.map((each) => Math.round(each.get(name) ?? 0))])),
  }
}

const ROWS = 200

/** A page of rows, the newest first. */
export function pageOf<T>(all: readonly T[], from: number): Rows<T> {
  const end = Math.max(0, all.length - from)
  return { total: all.length, from, rows: all.slice(Math.max(0, end - ROWS), end).toReversed() }
}

/** Rows shown of what a compaction took out. */
const MOST_LEFT = 50
/** The part of a message by which it is found in the record. */
const MOST_QUOTED = 60

export function compactionPageOf({ log, composition }: ReadLog, id: string, priceOf: PriceOf): CompactionPage {
  const row = compactionsOf(log, priceOf).find((one) => one.id === id)
  const epoch = log.epochs.find((one) => one.epoch.id === id)?.epoch
  if (row === undefined || epoch === undefined)
    throw new PlimsollError('not-found', `This session has no compaction ${JSON.stringify(id.slice(0, 60))}.`)
  const record = recordOf(epoch)
  const own = log.calls.filter(({ purpose, agent = 'main' }) => purpose === 'turn' && agent === row.agent)
  const first = own.findIndex((call) => call.epoch === id)
  const byIdentity = new Map(
    composition()
      .itemsSent()
      .map((item) => [item.identity, item]),
  )
  const textOf = (identity: string | undefined): string | undefined =>
    log.items.find((item) => item.identity === identity)?.text
  const left = removalsOf(log)
    .filter(({ compaction }) => compaction === id)
    .map((removal) => {
      const { tokens = 0, target, kind } = byIdentity.get(removal.identity ?? '') ?? {}
      const begin =
        kind === 'user' || kind === 'assistant' ? textOf(removal.identity)?.trim().slice(0, MOST_QUOTED) : undefined
      const named =
        (target !== undefined && saysOf(record, target)) ||
        (begin !== undefined && begin !== '' && record.includes(begin.split('\n', 1)[0]!)) ||
        (removal.handle !== undefined && record.includes(removal.handle))
      return { ...removal, tokens: Math.round(tokens), target, named }
    })
    .toSorted((a, b) => b.tokens - a.tokens)
  return {
    ...row,
    record,
    bars: barsOf(composition(), own[first - 1], own[first]),
    left: left.slice(0, MOST_LEFT),
    callsSince: own.slice(Math.max(0, first)).filter((call) => call.epoch === id).length,
  }
}

/** The record names a call by its target, or by the values of its input. */
function saysOf(record: string, target: string): boolean {
  const values = target.startsWith('{') ? [...target.matchAll(/:\s*"?([^",}]+)/g)].map(([, value]) => value!) : [target]
  return record.split('\n').some((line) => values.every((value) => line.includes(value)))
}

function barsOf(
  composition: Composition,
  before: LoggedCall | undefined,
  after: LoggedCall | undefined,
): CompactionPage['bars'] {
  const partsOf = (call: LoggedCall | undefined): ReadonlyMap<string, number> =>
    call === undefined ? new Map<string, number>() : composition.partsOf(call, callRow(call).sent)
  const [then, now] = [partsOf(before), partsOf(after)]
  return [...new Set([...then.keys(), ...now.keys()])]
    .map((name) => ({ name, before: Math.round(then.get(name) ?? 0), after: Math.round(now.get(name) ?? 0) }))
    .toSorted((a, b) => b.before - a.before)
}
