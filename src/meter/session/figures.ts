import type { CacheMiss, CacheSeen } from '../../core/cache.ts'
import { insertedTexts } from '../../core/epochs.ts'
import { costOfUsage, type PriceModel, simulateUsage } from '../../core/price.ts'
import type { Audit, Epoch, FetchedAgain, ItemSeen, UsageSeen } from '../../core/records.ts'
import { addUsage, isKnownUsage, NO_USAGE, type Usage } from '../../core/usage.ts'
import type { FoldedLog, LoggedCall, LoggedEpoch } from './log.ts'

/*
 * The one place that works out what a session's log says: what was sent, what fits, what would have been sent without Plimsoll, what was left out, and
 * what it cost. The page, `sessions`, `replay`, Compare and the API show these figures and work out none of their own.
 */

/** What a figure rests on: the provider's count or bill, an estimate of ours, or the most that it can be. */
export type Basis = 'measured' | 'estimate' | 'upper bound'

export interface Figure {
  readonly value: number
  readonly basis: Basis
}

export interface SessionFigures {
  /** Model calls that were answered, summaries among them. */
  readonly calls: number
  readonly models: readonly string[]
  readonly agents: readonly string[]
  /** Tokens of the last prompt. */
  readonly load: Figure
  /** Tokens of the largest prompt. */
  readonly peak: Figure
  /** Tokens of all prompts together. */
  readonly sent: Figure
  /** Tokens of the largest prompt, had everything been sent that the client sent: before compactions, and before results were shortened. */
  readonly withoutPlimsoll: Figure
  /** Of the last call; 0 where none is known. */
  readonly limit: number
  readonly window: number
  /** Compactions that requests were sent under and that stand. */
  readonly compactions: number
  /** Items that compactions took out, each once. */
  readonly leftOut: number
  /** Results that were shown shorter from their first send on. */
  readonly shortened: number
  /** Calls that would not have fitted without Plimsoll. */
  readonly overflowsAvoided: number
  readonly usage: Usage
  readonly withoutUsage: number
  /** In dollars; absent where no call has a price. */
  readonly cost?: Figure
  /** Calls whose price is not known; their cost is not in `cost`. */
  readonly unpriced: number
  /** What it cost less for Plimsoll, in dollars, net of summaries; absent where a call does not say it. */
  readonly saved?: Figure
  /** Calls that the provider refused or did not answer. */
  readonly failed: number
  /** Overflows that were reduced and sent again without an error at the client. */
  readonly recovered: number
  /** Why the newest request was not sent. */
  readonly halted?: string
}

export interface CallRow extends Omit<UsageSeen, 'measured' | 'hidden' | 'limit'> {
  readonly number: number
  readonly agent: string
  /** Tokens of the prompt: the provider's count, else our estimate. */
  readonly sent: number
  readonly isMeasured: boolean
  /** The same, had everything been sent that the client sent. */
  readonly whole: number
  readonly limit?: number
  readonly window?: number
}

/** The cost of a prompt in dollars; absent without a price. */
export interface CompactionPrice {
  /** A later call without the compaction, read from the provider's cache. */
  readonly before: number
  /** The first call after it, whose prompt is not in the cache yet. */
  readonly once: number
  /** A later call with the compaction, read from the provider's cache. */
  readonly after: number
}

/** A compaction without its texts. */
export interface CompactionRow extends Pick<
  Epoch,
  'id' | 'at' | 'forced' | 'reason' | 'policy' | 'recall' | 'receipt'
> {
  readonly agent: string
  /** The number of the next call. */
  readonly beforeCall: number
  /** The prompt before it and the first one under it where the provider counted both; upper bounds otherwise. */
  readonly before: Figure
  readonly after: Figure
  /** Items that this compaction was the first to take out. */
  readonly leftOut: number
  /** Items that this compaction was the first to show shorter. */
  readonly shortened: number
  readonly undone: boolean
  readonly isStanding: boolean
  readonly price?: CompactionPrice
  /** What its session fetched again of it within the next 30 answers. */
  readonly fetchedAgain?: FetchedAgain
}

/** Something that a request does not carry, or carries shorter. */
export interface RemovalRow {
  readonly at: number
  readonly agent: string
  readonly action: 'left out' | 'shortened' | 'reasoning left out'
  readonly kind: string
  readonly tool?: string
  readonly reason: string
  readonly originalBytes: number
  readonly shownBytes: number
  readonly handle?: string
  readonly identity?: string
  /** The compaction that did it; absent where it was done before the first send. */
  readonly compaction?: string
  readonly undone?: true
}

/** What went wrong with a request, and what came of it. */
export interface TroubleRow extends Pick<Audit, 'at' | 'agent' | 'reason'> {
  readonly what: Trouble
}

export type PriceOf = (model: string) => PriceModel | undefined

const MAIN = 'main'

/** Entries of the audit trail that tell of a request, and not of something that was removed. */
export const TROUBLES = ['call-failed', 'overflow-recovered', 'halted'] as const
export type Trouble = (typeof TROUBLES)[number]
const troubleOf = (action: string): Trouble | undefined => TROUBLES.find((one) => one === action)
export const isTrouble = ({ action }: Audit): boolean => troubleOf(action) !== undefined

export function callRow(call: LoggedCall): CallRow {
  const { measured: _, hidden: __, itemsBefore: ___, limit, agent = MAIN, usage, removed = 0, ...rest } = call
  const isMeasured = usage !== undefined && usage.input > 0
  const sent = isMeasured ? usage.input : Math.round(call.estimated)
  return { ...rest, agent, usage, sent, isMeasured, whole: sent + removed, limit: limit?.tokens, window: limit?.window }
}

/** `isReplay`: nothing was billed, so what was counted is an estimate of what it would have cost. */
export function figuresOf(log: FoldedLog, isReplay = false): SessionFigures {
  const calls = log.calls.map(callRow)
  const turns = calls.filter(({ purpose }) => purpose === 'turn')
  const last = turns.at(-1)
  const certain: Basis = isReplay ? 'estimate' : 'measured'
  const figureOf = (value: number, of: readonly CallRow[]): Figure => ({
    value,
    basis: of.every(({ isMeasured }) => isMeasured) ? certain : 'estimate',
  })
  const largest = (of: (call: CallRow) => number): CallRow | undefined =>
    turns.reduce<CallRow | undefined>(
      (most, call) => (most !== undefined && of(most) >= of(call) ? most : call),
      undefined,
    )
  const peak = largest(({ sent }) => sent)
  const whole = largest((call) => call.whole)
  const priced = calls.filter(({ costUsd }) => costUsd !== undefined)
  const savedUsd = savedIn(calls)
  const removals = removalsOf(log).filter(({ undone }) => undone !== true)
  const troubles = troublesOf(log)
  const count = (what: Trouble): number => troubles.filter((one) => one.what === what).length
  const isHalted = troubles.at(-1)?.what === 'halted' && troubles.at(-1)!.at >= (calls.at(-1)?.at ?? 0)
  return {
    calls: calls.length,
    models: [...new Set(turns.map(({ model }) => model))],
    agents: [...new Set(calls.map(({ agent }) => agent))],
    load: figureOf(last?.sent ?? 0, last === undefined ? [] : [last]),
    peak: figureOf(peak?.sent ?? 0, peak === undefined ? [] : [peak]),
    sent: figureOf(
      turns.reduce((sum, { sent }) => sum + sent, 0),
      turns,
    ),
    withoutPlimsoll:
      whole === undefined || whole.whole === whole.sent
        ? figureOf(whole?.whole ?? 0, whole === undefined ? [] : [whole])
        : { value: whole.whole, basis: 'estimate' },
    limit: last?.limit ?? 0,
    window: last?.window ?? 0,
    compactions: compactionsIn(log).filter(({ epoch }) => !log.undone.has(epoch.id)).length,
    leftOut: removals.filter(({ action }) => action === 'left out').length,
    shortened: removals.filter(({ action, compaction }) => action === 'shortened' && compaction === undefined).length,
    overflowsAvoided: turns.filter((call) => call.whole > (call.limit ?? Infinity)).length,
    usage: calls.reduce((sum, { usage }) => (usage === undefined ? sum : addUsage(sum, usage)), NO_USAGE),
    withoutUsage: calls.filter(({ isMeasured }) => !isMeasured).length,
    cost:
      priced.length === 0 && calls.length > 0
        ? undefined
        : { value: priced.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0), basis: certain },
    unpriced: calls.length - priced.length,
    saved: savedUsd === undefined ? undefined : { value: savedUsd, basis: 'estimate' },
    // Each recovered overflow was refused first.
    failed: Math.max(0, count('call-failed') - count('overflow-recovered')),
    recovered: count('overflow-recovered'),
    halted: isHalted ? troubles.at(-1)!.reason : undefined,
  }
}

/** What calls say of themselves, added up; undefined where one that was priced does not. */
function savedIn(calls: readonly Pick<UsageSeen, 'costUsd' | 'savedUsd'>[]): number | undefined {
  const priced = calls.filter(({ costUsd }) => costUsd !== undefined)
  if (priced.length === 0 || priced.some(({ savedUsd }) => savedUsd === undefined)) return undefined
  return priced.reduce((sum, { savedUsd = 0 }) => sum + savedUsd, 0)
}

/** Epochs that a request was sent under: one that was declared for a request that was refused never came to be a compaction. */
const compactionsIn = ({ epochs, used }: FoldedLog): readonly LoggedEpoch[] =>
  epochs.filter(({ epoch }) => used.has(epoch.id))

export function standingEpochs(log: FoldedLog): ReadonlyMap<string, Epoch> {
  const standing = new Map<string, Epoch>()
  for (const { epoch } of compactionsIn(log)) if (!log.undone.has(epoch.id)) standing.set(epoch.agent ?? MAIN, epoch)
  return standing
}

export function compactionsOf(
  log: FoldedLog,
  priceOf: PriceOf = () => undefined,
  isReplay = false,
): readonly CompactionRow[] {
  const standing = standingEpochs(log)
  const removals = removalsOf(log)
  return compactionsIn(log).map(({ epoch, callsBefore }): CompactionRow => {
    const { id, at, forced, reason, policy, recall, receipt, agent = MAIN } = epoch
    const first = log.calls.slice(callsBefore).find((call) => call.epoch === id)
    const counted = isKnownUsage(first?.usage) && first.usage.input > 0 ? first.usage.input : undefined
    const of = (action: RemovalRow['action']): number =>
      removals.filter((row) => row.compaction === id && row.action === action).length
    const previous = log.calls
      .slice(0, (first?.number ?? 1) - 1)
      .findLast((call) => call.purpose === 'turn' && (call.agent ?? MAIN) === agent)
    const [before, after] = sizesOf(epoch, counted, previous && callRow(previous), isReplay ? 'estimate' : 'measured')
    return {
      id,
      at,
      forced,
      reason,
      policy,
      recall,
      receipt,
      agent,
      beforeCall: first?.number ?? callsBefore + 1,
      before,
      after,
      leftOut: of('left out'),
      shortened: of('shortened'),
      undone: log.undone.has(id),
      isStanding: standing.get(agent)?.id === id,
      fetchedAgain: againOf(log.calls, id),
      price: priceOfCompaction(before.value, after.value, priceOf(first?.model ?? log.calls.at(-1)?.model ?? '')),
    }
  })
}

function againOf(calls: readonly UsageSeen[], id: string): FetchedAgain | undefined {
  const found = calls.flatMap(({ fetchedAgain }) => (fetchedAgain?.epoch === id ? [fetchedAgain] : []))
  const sum = (name: keyof FetchedAgain): number => found.reduce((all, one) => all + one[name], 0)
  return found.length === 0 ? undefined : { results: sum('results'), tokens: sum('tokens'), costUsd: sum('costUsd') }
}

/** The prompts before and after it as the provider counted them; where it did not, our upper bounds. The two are never set side by side. */
function sizesOf(
  { before, after }: Epoch,
  counted: number | undefined,
  previous: CallRow | undefined,
  basis: Basis,
): readonly [before: Figure, after: Figure] {
  if (counted === undefined || previous?.isMeasured !== true)
    return [
      { value: Math.round(before), basis: 'upper bound' },
      { value: Math.round(after), basis: 'upper bound' },
    ]
  return [
    { value: previous.sent, basis },
    { value: counted, basis },
  ]
}

function priceOfCompaction(before: number, after: number, price: PriceModel | undefined): CompactionPrice | undefined {
  if (price === undefined) return undefined
  const prompt = (tokens: number, commonPrefixTokens: number): number =>
    costOfUsage(simulateUsage({ tokens, commonPrefixTokens, outputTokens: 0 }, price), price)
  return { before: prompt(before, before), once: prompt(after, 0), after: prompt(after, after) }
}

/** The record that the model reads instead of what a compaction took out. */
export const recordOf = (epoch: Epoch): string => insertedTexts(epoch).join('\n\n')

/** Everything that was removed or shortened, each item once, oldest first. */
export function removalsOf(log: FoldedLog): readonly RemovalRow[] {
  const items = new Map(log.items.map((item) => [item.identity, item]))
  const known = new Map<string, Set<string>>()
  const shortened = log.audits.flatMap((audit) => (troubleOf(audit.action) === undefined ? [firstSend(audit)] : []))
  const compacted = compactionsIn(log).flatMap(({ epoch }) => {
    const isUndone = log.undone.has(epoch.id)
    const agent = epoch.agent ?? MAIN
    const before = known.get(agent) ?? new Set<string>()
    known.set(agent, before)
    return removedBy(epoch, items, before, isUndone)
  })
  return [...shortened, ...compacted].sort((a, b) => a.at - b.at)
}

function firstSend({ at, agent = MAIN, reason, originalBytes, shownBytes, handle, identity, tool }: Audit): RemovalRow {
  return { at, agent, action: 'shortened', kind: 'result', tool, reason, originalBytes, shownBytes, handle, identity }
}

/** What an epoch is the first to remove; `before` grows by it, unless it was undone. */
function removedBy(
  epoch: Epoch,
  items: ReadonlyMap<string, ItemSeen>,
  before: Set<string>,
  isUndone: boolean,
): readonly RemovalRow[] {
  const { id, at, agent = MAIN, identities, edits } = epoch
  const rows: RemovalRow[] = []
  const seen = new Set(before)
  const add = (
    action: RemovalRow['action'],
    place: number,
    about: Pick<RemovalRow, 'reason' | 'handle' | 'shownBytes'>,
  ): void => {
    const identity = identities[place] ?? ''
    const key = `${action} ${identity}`
    if (seen.has(key)) return
    seen.add(key)
    if (!isUndone) before.add(key)
    const { kind = 'opaque', toolName: tool, text = '' } = items.get(identity) ?? {}
    const originalBytes = Buffer.byteLength(text)
    const undone = isUndone || undefined
    rows.push({ at, agent, action, kind, tool, originalBytes, identity, compaction: id, undone, ...about })
  }
  for (const edit of edits) {
    const { reason } = edit
    if (edit.op === 'replace')
      add('shortened', edit.at, { reason, handle: edit.handle, shownBytes: Buffer.byteLength(edit.text) })
    else if (edit.op === 'drop')
      for (let place = edit.from; place < edit.to; place++) add('left out', place, { reason, shownBytes: 0 })
    else if (edit.op === 'strip') add('reasoning left out', edit.from, { reason, shownBytes: 0 })
  }
  return rows
}

/** What went wrong with requests, oldest first. */
export const troublesOf = ({ audits }: FoldedLog): readonly TroubleRow[] =>
  audits.flatMap(({ at, agent, action, reason }) => {
    const what = troubleOf(action)
    return what === undefined ? [] : [{ at, agent, what, reason }]
  })

export interface MissRow extends CacheMiss, Pick<CacheSeen, 'ageSeconds'> {
  readonly at: number
  readonly turn: string
  readonly model: string
  readonly agent?: string
}

/** Calls that read less from the provider's cache than they could have. */
export const missesOf = ({ calls }: FoldedLog): readonly MissRow[] =>
  calls.flatMap(({ at, turn, model, agent, cache }) =>
    cache?.miss === undefined ? [] : [{ at, turn, model, agent, ageSeconds: cache.ageSeconds, ...cache.miss }],
  )
