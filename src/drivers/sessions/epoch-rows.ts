import type { Epoch } from '../../core/records.ts'
import type { FoundEpoch } from '../../ports/session-store.ts'
import type { BoundedMap } from '../../util/bounded-map.ts'
import { byName } from './checks.ts'
import { int, text, type Row } from './rows.ts'

/** A row of the lookup: `record`, `epoch` (its blind id), `session`, `version`, and the sessions that undid it. */
export interface EpochRow {
  readonly row: Row
  readonly undone: readonly string[]
}

/** Parsed epochs by record id. Records never change, so an entry can be stale only by being unasked for. */
export type EpochCache = BoundedMap<number, Epoch>

/** The first holder of each epoch speaks for it; forks and adopters hold the same one. */
export function firstHolders(rows: readonly EpochRow[]): EpochRow[] {
  const first = new Map<string, EpochRow>()
  for (const one of rows) if (!first.has(text(one.row, 'epoch'))) first.set(text(one.row, 'epoch'), one)
  return [...first.values()]
}

/** Records whose bodies have to be read, with the place that a damaged one is reported at. */
export function uncached(
  cache: EpochCache,
  rows: readonly EpochRow[],
): ReadonlyMap<number, { readonly session: string; readonly version: number }> {
  return new Map(
    rows
      .filter(({ row }) => cache.get(int(row, 'record')) === undefined)
      .map(({ row }) => [int(row, 'record'), { session: text(row, 'session'), version: int(row, 'version') }]),
  )
}

/** `loaded`: what was read for this answer; a full cache may have let go of it already. */
export function foundEpochs(
  cache: EpochCache,
  rows: readonly EpochRow[],
  loaded: ReadonlyMap<number, Epoch>,
): FoundEpoch[] {
  return rows.flatMap(({ row, undone }) => {
    const epoch = loaded.get(int(row, 'record')) ?? cache.get(int(row, 'record'))
    if (epoch === undefined) return []
    return [{ session: text(row, 'session'), epoch, undoneIn: [...new Set(undone)].sort(byName) }]
  })
}
