import { rangesOf } from '../../../core/epochs.ts'
import type { Zones } from '../../../core/policy.ts'
import type { EpochEdit } from '../../../core/records.ts'
import { mustStayWhole } from './steps/fold.ts'
import { linkPlaces, type Draft } from './draft.ts'

export type Unit = 'messages' | 'items' | 'tokens'

/** How much of a unit stands in a range of items. */
export function sizeOf(draft: Draft, from: number, to: number, unit: Unit): number {
  if (unit === 'items') return to - from
  let sum = 0
  for (let i = from; i < to; i++) {
    const item = draft.items[i]!
    if (unit === 'tokens') sum += draft.tokensOf(item)
    else if (i === from || item.message < 0 || item.message !== draft.items[i - 1]!.message) sum++
  }
  return sum
}

/** Where the newest `amount` begin; moved back to the start of a step, so that no call loses its result. */
export function tailStart(draft: Draft, amount: number, unit: Unit): number {
  const { steps } = draft.turns
  let from = draft.items.length
  let held = 0
  for (let s = steps.length - 1; s >= 0 && held < amount; s--) {
    from = steps[s]!.from
    held += sizeOf(draft, from, steps[s]!.to, unit)
  }
  return Math.min(from, draft.openFrom)
}

/** Where the first `amount` messages end, at the end of a step. */
export function headEnd(draft: Draft, amount: number): number {
  let to = 0
  let held = 0
  for (const step of draft.turns.steps) {
    if (held >= amount) break
    to = step.to
    held += sizeOf(draft, step.from, step.to, 'messages')
  }
  return to
}

/** The range between the zones, as item indexes; empty when they cover everything. */
export function between(draft: Draft, { preserveFirst = 1, preserveLast, cap }: Zones): { from: number; to: number } {
  const most = cap === undefined ? Infinity : Math.max(0, Math.floor(cap.share * cap.window) - preserveFirst)
  const to = tailStart(draft, Math.min(preserveLast, most), 'messages')
  return { from: Math.min(headEnd(draft, preserveFirst), to), to }
}

/** Items of a range that may go, whole steps at a time; what must stay does. */
export function foldableIn(draft: Draft, from: number, to: number): number[] {
  const indexes: number[] = []
  for (const step of draft.turns.steps) {
    if (step.from < from || step.to > to || mustStayWhole(draft, step.from, step.to)) continue
    for (let i = step.from; i < step.to; i++) if (!draft.keep.has(i)) indexes.push(i)
  }
  return indexes
}

export function dropEdits(draft: Draft, indexes: readonly number[], reason: string): EpochEdit[] {
  const places = linkPlaces(draft)
  return rangesOf(indexes.map((index) => ({ place: places[index]!, reason })).filter(({ place }) => place >= 0))
}

/** Place of the first chained item from `index` on; the end of the chain when there is none. */
export function placeFrom(draft: Draft, index: number): number {
  const places = linkPlaces(draft)
  for (let i = index; i < places.length; i++) if (places[i]! >= 0) return places[i]!
  return draft.links.length
}
