import type { Epoch, LogRecord } from '../../core/records.ts'
import { byName } from './checked-store.ts'
import { keyOf } from './records.ts'
import type { FoundEpoch, SessionInfo, StoredRecord } from '../../ports/session-store.ts'
import type { StoreProblem, StoreStats } from '../../ports/store-maintenance.ts'
import type { BoundedMap } from '../../util/bounded-map.ts'

/** A row of either database. Big numbers come as text from Postgres, texts as bytes from SQLite. */
export type Row = Readonly<Record<string, unknown>>

export const int = (row: Row | undefined, column: string): number => Number(row?.[column] ?? 0)
export const text = (row: Row | undefined, column: string): string => {
  const value = row?.[column]
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length).toString()
  return typeof value === 'string' ? value : ''
}

export const infoOf = (row: Row): SessionInfo => ({
  session: text(row, 'name'),
  version: int(row, 'version'),
  createdAt: int(row, 'created_at'),
  updatedAt: int(row, 'updated_at'),
  bytes: int(row, 'bytes'),
})

/** Tenants with a session or a value. */
export const tenantNames = (
  name: string,
): string => `SELECT ${name} AS name FROM tenants t WHERE EXISTS (SELECT 1 FROM sessions WHERE tenant = t.id)
  OR EXISTS (SELECT 1 FROM vals WHERE tenant = t.id) ORDER BY t.name`

/** Beside these, each database has its own way to say how much of its disk it takes, as `disk`. */
export const COUNTS = `(SELECT COUNT(*) FROM sessions) AS sessions, (SELECT COALESCE(SUM(version), 0) FROM sessions) AS records,
  (SELECT COALESCE(SUM(bytes), 0) FROM sessions) AS bytes,
  (SELECT COUNT(*) FROM (SELECT DISTINCT tenant, cover, epoch FROM epochs) e) AS epochs`

export const statsOf = (
  row: Row | undefined,
  of: Pick<StoreStats, 'driver' | 'schemaVersion' | 'sealed' | 'tenants'>,
): StoreStats => ({
  ...of,
  sessions: int(row, 'sessions'),
  records: int(row, 'records'),
  recordBytes: int(row, 'bytes'),
  epochs: int(row, 'epochs'),
  diskBytes: int(row, 'disk'),
})

/** Statements that copy the lookups of a log's first records to a fork. `range` joins `old` and `new` records and ends in WHERE. */
export const copyLookups = (range: string): readonly string[] => [
  `INSERT INTO epochs (tenant, cover, record, epoch, session) SELECT i.tenant, i.cover, new.id, i.epoch, new.session FROM epochs i ${range}`,
  `INSERT INTO undos (tenant, epoch, session, record) SELECT i.tenant, i.epoch, new.session, new.id FROM undos i ${range}`,
  `INSERT INTO edits (tenant, key, record, session) SELECT i.tenant, i.key, new.id, new.session FROM edits i ${range}`,
  `INSERT INTO items (tenant, identity, session, record) SELECT i.tenant, i.identity, new.session, new.id FROM items i ${range}`,
]

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

/** How each kind of record is looked up: the table, and the column with its blind key. */
export const LOOKUPS = {
  epoch: { table: 'epochs', column: 'cover' },
  undo: { table: 'undos', column: 'epoch' },
  edit: { table: 'edits', column: 'key' },
  item: { table: 'items', column: 'identity' },
} as const

export type LookupIndex = keyof typeof LOOKUPS

/** The index and key under which a record must be found; undefined for those that nobody looks up. */
function lookupOf(record: LogRecord): { readonly index: LookupIndex; readonly key: string } | undefined {
  const key = keyOf(record)
  if (key === undefined) return undefined
  const { index } = key
  if (index === 'epoch') return { index, key: key.cover }
  if (index === 'undo') return { index, key: key.id }
  return { index, key: index === 'edit' ? key.key : key.identity }
}

/** A session as its head describes it. */
export interface CheckedHead {
  readonly id: number
  readonly tenant: string
  readonly name: string
  readonly version: number
  readonly bytes: number
}

/** Walks one log in the order of its versions and compares it with its head. */
export interface LogCheck {
  readonly problems: readonly StoreProblem[]
  /** The version that should come next. */
  readonly expected: number
  /** `read` throws for a record that cannot be read; `isFound` says whether the lookup has it. */
  see(
    version: number,
    bytes: number,
    read: () => LogRecord,
    isFound: (index: LookupIndex, key: string) => boolean,
  ): void
  end(): readonly StoreProblem[]
}

export function logCheck(head: CheckedHead): LogCheck {
  const problems: StoreProblem[] = []
  let expected = 1
  let bytes = 0
  const say = (kind: StoreProblem['kind'], version: number, message: string): void => {
    problems.push({ kind, tenant: head.tenant, session: head.name, version, message })
  }
  return {
    problems,
    get expected() {
      return expected
    },
    see(version, size, read, isFound) {
      if (version > expected) say('gap', expected, `Versions ${expected} to ${version - 1} are missing.`)
      expected = version + 1
      bytes += size
      try {
        const lookup = lookupOf(read())
        if (lookup === undefined || isFound(lookup.index, lookup.key)) return
        say('index', version, `The record is not in the lookup of ${LOOKUPS[lookup.index].table}.`)
      } catch (error) {
        say('unreadable', version, error instanceof Error ? error.message : String(error))
      }
    },
    end() {
      if (expected - 1 !== head.version)
        say('gap', expected, `The log ends at ${expected - 1}; its head says ${head.version}.`)
      if (bytes !== head.bytes) say('index', head.version, `The log has ${bytes} bytes; its head says ${head.bytes}.`)
      return problems
    },
  }
}

/** `read`: how a database is asked for a text. */
export const sessionHeads = (read: (column: string) => string): string =>
  `SELECT s.id, ${read('s.name')} AS name, s.version, s.bytes, ${read('t.name')} AS tenant
   FROM sessions s JOIN tenants t ON t.id = s.tenant ORDER BY s.id`
export const HOMELESS =
  'SELECT r.id FROM records r LEFT JOIN sessions s ON s.id = r.session WHERE s.id IS NULL LIMIT 100'
export const orphansIn = (table: string): string =>
  `SELECT i.record FROM ${table} i LEFT JOIN records r ON r.id = i.record AND r.session = i.session WHERE r.id IS NULL LIMIT 100`

export const orphanProblem = (table: string, record: number): StoreProblem => ({
  kind: 'index',
  message: `The lookup of ${table} points at record ${record}, which is not there.`,
})
export const homelessProblem = (record: number): StoreProblem => ({
  kind: 'index',
  message: `Record ${record} belongs to no session.`,
})

export interface LogPage {
  readonly records: readonly StoredRecord[]
  /** The version to go on after; undefined on the last page. */
  readonly last: number | undefined
}

/**
 * A log page by page, which keeps a long session from being held in memory twice. Written out instead of a generator: three
 * promises per record are half of the time that a restore takes.
 */
export function pagedLog(
  begin: () => Promise<number | undefined>,
  load: (after: number) => Promise<LogPage>,
): AsyncIterableIterator<StoredRecord> {
  let records: readonly StoredRecord[] = []
  let at = 0
  let next: number | undefined
  let isOpen = false
  const end = (): IteratorResult<StoredRecord> => ({ done: true, value: undefined })

  async function turnPage(): Promise<IteratorResult<StoredRecord>> {
    if (!isOpen) next = await begin()
    isOpen = true
    while (next !== undefined) {
      const page = await load(next)
      records = page.records
      next = page.last
      at = 0
      if (records.length > 0) return { done: false, value: records[at++]! }
    }
    return end()
  }

  return {
    next: () => (at < records.length ? Promise.resolve({ done: false as const, value: records[at++]! }) : turnPage()),
    async return() {
      records = []
      next = undefined
      isOpen = true
      return end()
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
