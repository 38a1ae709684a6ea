import type { SessionInfo } from '../../ports/session-store.ts'
import type { StoreStats } from '../../ports/store-maintenance.ts'

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
