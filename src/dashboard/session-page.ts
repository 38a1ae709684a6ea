import { costOfUsage, type PriceModel, simulateUsage } from '../core/price.ts'
import type { Epoch } from '../core/records.ts'
import { insertedTexts } from '../core/epochs.ts'
import { addUsage, NO_USAGE } from '../core/usage.ts'
import { unmanagedCost } from '../meter/index.ts'
import { compositionOf, type CountText, type FoldedLog, type LoggedCall } from './session-log.ts'
import type { CompactionPrice, PageCall, PageCompaction, PageEdit, SessionFigures, SessionPage } from './page-types.ts'

export interface PageInputs {
  readonly tenant: string
  readonly session: string
  readonly version: number
  readonly priceOf: PriceOf
}

const MAIN = 'main'

/** The figures of a session, without the composition of its prompts, for which every text would be counted. */
export function figuresOf(log: FoldedLog, { tenant, session, version, priceOf }: PageInputs): SessionFigures {
  const calls = callsOf(log)
  const turns = calls.filter(({ purpose }) => purpose === 'turn')
  const last = turns.at(-1)
  const savedUsd = savedBy(calls, priceOf)
  return {
    tenant,
    session,
    version,
    calls: calls.length,
    models: [...new Set(turns.map(({ model }) => model))],
    agents: [...new Set(calls.map(({ agent }) => agent))],
    load: last?.prompt ?? 0,
    limit: last?.limit ?? 0,
    window: last?.window ?? 0,
    compactions: log.epochs.length - log.undone.size,
    overflowsAvoided: turns.filter(({ original, limit = Infinity }) => original > limit).length,
    cuts: log.audits.length,
    usage: calls.reduce((sum, { usage }) => (usage === undefined ? sum : addUsage(sum, usage)), NO_USAGE),
    costUsd: calls.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0),
    savedUsd,
    withoutUsage: calls.filter(({ isMeasured }) => !isMeasured).length,
  }
}

export function sessionPageOf(log: FoldedLog, inputs: PageInputs, countText: CountText): SessionPage {
  const partsOf = compositionOf(log, countText)
  const calls = callsOf(log)
  const standing = standingEpochs(log)
  const { cuts: _, ...figures } = figuresOf(log, inputs)
  return {
    ...figures,
    startedAt: log.startedAt,
    updatedAt: log.updatedAt,
    callList: calls.map((call, index) => ({
      ...call,
      parts: Object.fromEntries(partsOf(log.calls[index]!, call.prompt)),
    })),
    compactionList: log.epochs.map(({ epoch, callsBefore }) => {
      const { model, epoch: under, usage } = log.calls[callsBefore] ?? {}
      const counted = under === epoch.id && usage !== undefined && usage.input > 0 ? usage.input : undefined
      return {
        ...compactionOf(epoch, callsBefore, log, standing),
        counted,
        ...priceOfCompaction(epoch.before, counted ?? epoch.after, inputs.priceOf(model ?? modelOf(log))),
      }
    }),
    cuts: log.audits,
    pins: [...log.pins],
    items: log.items.length,
    policies: [...new Set(log.epochs.map(({ epoch }) => epoch.policy))],
  }
}

/** The calls of a log; `original` includes what earlier compactions removed. */
function callsOf(log: FoldedLog): readonly PageCall[] {
  const saved = savedByEpoch(log)
  return log.calls.map((call) => pageCall(call, saved.get(call.epoch ?? '') ?? 0))
}

function pageCall(call: LoggedCall, saved: number): PageCall {
  const { measured: _, hidden: __, limit, agent = MAIN, usage, ...rest } = call
  const isMeasured = usage !== undefined && usage.input > 0
  const prompt = isMeasured ? usage.input : Math.round(call.estimated)
  return {
    ...rest,
    agent,
    usage,
    prompt,
    isMeasured,
    original: call.purpose === 'turn' ? prompt + saved : prompt,
    limit: limit?.tokens,
    window: limit?.window,
    parts: {},
  }
}

/**
 * Tokens that each epoch removed, with those of earlier epochs: its `before` was measured under the previous epoch. The tokens left are the
 * provider's count of the first call under it, since `after` is an upper bound.
 */
function savedByEpoch(log: FoldedLog): ReadonlyMap<string, number> {
  const counted = new Map<string, number>()
  for (const { epoch, purpose, usage } of log.calls)
    if (epoch !== undefined && purpose === 'turn' && !counted.has(epoch)) counted.set(epoch, usage?.input ?? 0)
  const saved = new Map<string, number>()
  const newest = new Map<string, string>()
  for (const { epoch } of log.epochs) {
    const agent = epoch.agent ?? MAIN
    const before = newest.get(agent)
    const after = counted.get(epoch.id) || epoch.after
    const own = Math.max(0, Math.round(epoch.before - after))
    // The epoch's `before` does not contain what earlier epochs removed.
    saved.set(epoch.id, (before === undefined || log.undone.has(before) ? 0 : (saved.get(before) ?? 0)) + own)
    newest.set(agent, epoch.id)
  }
  return saved
}

export function standingEpochs(log: FoldedLog): ReadonlyMap<string, Epoch> {
  const standing = new Map<string, Epoch>()
  for (const { epoch } of log.epochs) if (!log.undone.has(epoch.id)) standing.set(epoch.agent ?? MAIN, epoch)
  return standing
}

function compactionOf(
  epoch: Epoch,
  callsBefore: number,
  log: FoldedLog,
  standing: ReadonlyMap<string, Epoch>,
): PageCompaction {
  const { identities: _, edits, agent = MAIN, ...rest } = epoch
  return {
    ...rest,
    agent,
    beforeCall: callsBefore + 1,
    undone: log.undone.has(epoch.id),
    isStanding: standing.get(agent)?.id === epoch.id,
    record: insertedTexts(epoch).join('\n\n'),
    edits: edits.map(editOf),
  }
}

const modelOf = ({ calls }: FoldedLog): string => calls.at(-1)?.model ?? ''

function priceOfCompaction(
  before: number,
  after: number,
  price: PriceModel | undefined,
): { readonly price?: CompactionPrice } {
  if (price === undefined) return {}
  const prompt = (tokens: number, commonPrefixTokens: number): number =>
    costOfUsage(simulateUsage({ tokens, commonPrefixTokens, outputTokens: 0 }, price), price)
  return { price: { before: prompt(before, before), once: prompt(after, 0), after: prompt(after, after) } }
}

function editOf(edit: Epoch['edits'][number]): PageEdit {
  if (edit.op === 'drop' || edit.op === 'strip') return edit
  const { op, at, reason } = edit
  const handle = edit.op === 'replace' ? edit.handle : undefined
  return { op, from: at, to: at + 1, reason, handle }
}

export type PriceOf = (model: string) => PriceModel | undefined

/** The cost of the calls with everything sent each time, minus the real cost, summaries included. Undefined when a price is missing. */
function savedBy(calls: readonly PageCall[], priceOf: PriceOf): number | undefined {
  let saved = 0
  let previous: PageCall | undefined
  for (const call of calls) {
    if (call.usage === undefined) continue
    const price = priceOf(call.model)
    if (price === undefined || call.costUsd === undefined) return undefined
    if (call.purpose === 'turn') {
      saved += unmanagedCost(call, previous, price)
      previous = call
    }
    saved -= call.costUsd
  }
  return saved
}
