import { messageOf } from '../../../core/values.ts'
import { randomUUID } from 'node:crypto'
import type { LogRecord } from '../../../core/records.ts'
import type { StoredRecord } from '../../../ports/session-store.ts'
import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import { badForkVersion, conflict, forkTargetExists, noSuchSession } from '../checked-store.ts'
import { fromStored, readRecord, toStored, wordKey } from '../records.ts'
import { indexWords } from '../search-words.ts'
import { ask, int, text, type Context, type Job, type Row } from './job.ts'

/** The number of a tenant by its name; a tenant without data has none. */
export const TENANT = '(SELECT id FROM tenants WHERE name = ?)'

/** How records of a type are found: the table and its columns with blind keys; the first one is the search key. */
interface Lookup {
  readonly table: 'epochs' | 'undos' | 'edits' | 'items'
  readonly columns: readonly string[]
  keys(record: LogRecord): readonly string[]
}

const lookup = <T extends LogRecord['type']>(
  table: Lookup['table'],
  columns: readonly string[],
  keys: (record: Extract<LogRecord, { type: T }>) => readonly string[],
): Lookup => ({ table, columns, keys: keys as Lookup['keys'] })

/** The rows that a record adds to the lookups. */
const LOOKUPS: Readonly<Partial<Record<LogRecord['type'], Lookup>>> = {
  epoch: lookup<'epoch'>('epochs', ['cover', 'epoch'], ({ cover, id }) => [cover, id]),
  undo: lookup<'undo'>('undos', ['epoch'], ({ epoch }) => [epoch]),
  edit: lookup<'edit'>('edits', ['key'], ({ key }) => [key]),
  'item-seen': lookup<'item-seen'>('items', ['identity'], ({ identity }) => [identity]),
}

const ALL_LOOKUPS: readonly Lookup[] = Object.values(LOOKUPS)
const lookupOf = (record: LogRecord): Lookup | undefined => LOOKUPS[record.type]

export function* tenantId(name: string): Job<number> {
  return int((yield* ask('SELECT id FROM tenants WHERE name = ?', name))[0], 'id')
}

export function* ensureTenant(name: string): Job<number> {
  const known = yield* tenantId(name)
  if (known !== 0) return known
  yield* ask('INSERT INTO tenants (name) VALUES (?) ON CONFLICT DO NOTHING', name)
  return yield* tenantId(name)
}

interface SessionHead {
  /** 0 where there is no such session. */
  readonly id: number
  readonly version: number
}

export function* headOf(tenant: string, session: string, lock = ''): Job<SessionHead> {
  const sql = `SELECT id, version FROM sessions WHERE tenant = ${TENANT} AND name = ?${lock}`
  const [row] = yield* ask(sql, tenant, session)
  return { id: int(row, 'id'), version: int(row, 'version') }
}

/** The columns of a record that `recordOf` reads. */
export const recordColumns = ({ dialect }: Context): string =>
  `${dialect.text('r.body')} AS body, ${dialect.text('r.sum')} AS sum, r.version`

/** Undefined if it is damaged; that is reported. */
export const recordOf = (context: Context, tenant: string, row: Row, session: string): LogRecord | undefined =>
  readRecord(
    context,
    tenant,
    { body: context.dialect.fromColumn(row['body']), sum: text(row, 'sum') },
    { session, version: int(row, 'version') },
  )

/** The head of a session, which may be new; locked until the transaction ends. */
function* takeHead({ dialect }: Context, tenant: string, session: string, now: number): Job<SessionHead> {
  for (;;) {
    const head = yield* headOf(tenant, session, dialect.forUpdate)
    if (head.id !== 0) return head
    yield* ask(
      `INSERT INTO sessions (tenant, name, version, bytes, created_at, updated_at) VALUES (?, ?, 0, 0, ?, ?)
       ON CONFLICT DO NOTHING`,
      yield* ensureTenant(tenant),
      session,
      now,
      now,
    )
  }
}

export interface AppendOptions {
  readonly expectedVersion?: number
  readonly at?: number
  /** The id of the append; where it may have been written before, it is looked for. */
  readonly batch?: string
  readonly isAgain?: boolean
}

/** Gives the session's new version. Every step touches a bounded number of rows, whatever the length of the session. */
export function* append(
  context: Context,
  tenantName: string,
  session: string,
  records: readonly LogRecord[],
  { expectedVersion, at, batch = randomUUID(), isAgain = false }: AppendOptions = {},
): Job<number> {
  const { dialect, seal } = context
  const now = at ?? (yield* context.now())
  const { id, version } =
    records.length === 0 ? yield* headOf(tenantName, session) : yield* takeHead(context, tenantName, session, now)
  if (isAgain) {
    const [written] = yield* ask('SELECT version FROM records WHERE batch = ?', batch)
    if (written !== undefined) return int(written, 'version') + records.length - 1
  }
  if (expectedVersion !== undefined && version !== expectedVersion) throw conflict(session, expectedVersion, version)
  if (records.length === 0) return version
  const tenant = yield* tenantId(tenantName)
  const stored = records.map((record) => toStored(seal, tenantName, record))
  const rows = stored.map(({ body, sum }, i) => {
    const row = { session: id, version: version + i + 1, body: dialect.toColumn(body), sum }
    return dialect.hasBatches ? { ...row, batch: i === 0 ? batch : null } : row
  })
  const added = (yield* dialect.insert('records', rows, 'RETURNING id')).map((row) => int(row, 'id'))
  const blind = (key: string): string => seal.blind(tenantName, key)
  for (const { table, columns, keys } of ALL_LOOKUPS) {
    const entries = records.flatMap((record, i) => {
      if (lookupOf(record)?.table !== table) return []
      const found = keys(record).map((key, at): [string, string] => [columns[at]!, blind(key)])
      return [{ tenant, ...Object.fromEntries(found), session: id, record: added[i]! }]
    })
    if (entries.length > 0) yield* dialect.insert(table, entries)
    if (table === 'edits' && dialect.firstEdits !== table && entries.length > 0)
      yield* dialect.insert(dialect.firstEdits, entries, 'ON CONFLICT DO NOTHING')
  }
  if (dialect.addWords !== undefined)
    for (const [i, record] of records.entries()) {
      if (record.type !== 'item-seen') continue
      const words = indexWords(record).map((word) => wordKey(context, tenantName, tenant, word))
      yield* dialect.addWords({ record: added[i]!, session: id }, words)
    }
  const bytes = stored.reduce((sum, one) => sum + one.bytes, 0)
  const last = version + records.length
  yield* ask('UPDATE sessions SET version = ?, bytes = bytes + ?, updated_at = ? WHERE id = ?', last, bytes, now, id)
  return last
}

const PAGE = 256

/** The records after a version, as many as a page has, and the version to go on after where there may be more. */
export function* readPage(
  context: Context,
  tenant: string,
  session: string,
  after: number,
): Job<{ readonly records: readonly StoredRecord[]; readonly last: number | undefined }> {
  const rows = yield* ask(
    `SELECT ${recordColumns(context)} FROM records r
     WHERE session = (SELECT id FROM sessions WHERE tenant = ${TENANT} AND name = ?) AND version > ?
     ORDER BY version LIMIT ${PAGE}`,
    tenant,
    session,
    after,
  )
  const records = rows.flatMap((row) => {
    const record = recordOf(context, tenant, row, session)
    return record === undefined ? [] : [{ version: int(row, 'version'), record }]
  })
  return { records, last: rows.length < PAGE ? undefined : int(rows.at(-1), 'version') }
}

export function* fork(context: Context, tenantName: string, from: string, to: string, wanted?: number): Job<number> {
  const { dialect } = context
  // Keeps the source from being removed meanwhile.
  const source = yield* headOf(tenantName, from, dialect.forUpdate)
  if (source.id === 0) throw noSuchSession(from)
  const version = wanted ?? source.version
  if (version < 1 || version > source.version) throw badForkVersion(from, version, source.version)
  const now = yield* context.now()
  const [created] = yield* ask(
    `INSERT INTO sessions (tenant, name, version, bytes, created_at, updated_at)
     SELECT ${TENANT}, CAST(? AS TEXT), CAST(? AS BIGINT), SUM(${dialect.size('body')}), CAST(? AS BIGINT), CAST(? AS BIGINT)
     FROM records WHERE session = ? AND version <= ?
     ON CONFLICT DO NOTHING RETURNING id`,
    tenantName,
    to,
    version,
    now,
    now,
    source.id,
    version,
  )
  if (created === undefined) throw forkTargetExists(to)
  const range = [int(created, 'id'), source.id, version]
  yield* ask(
    `INSERT INTO records (session, version, body, sum)
     SELECT CAST(? AS BIGINT), version, body, sum FROM records WHERE session = ? AND version <= ? ORDER BY version`,
    ...range,
  )
  const copied = `i JOIN records old ON old.id = i.record JOIN records new ON new.session = ? AND new.version = old.version
     WHERE i.session = ? AND old.version <= ?`
  for (const { table, columns } of ALL_LOOKUPS)
    yield* ask(
      `INSERT INTO ${table} (tenant, ${columns.join(', ')}, record, session)
       SELECT i.tenant, ${columns.map((column) => `i.${column}`).join(', ')}, new.id, new.session FROM ${table} ${copied}`,
      ...range,
    )
  if (dialect.copyDerived !== undefined) yield* dialect.copyDerived(copied, range)
  return version
}

/** Removes the log, what belongs to it, and everything derived from it, search words included. */
export function* remove({ dialect }: Context, id: number): Job<void> {
  yield* ask('DELETE FROM vals WHERE (tenant, session) IN (SELECT tenant, name FROM sessions WHERE id = ?)', id)
  // The head is removed first: that waits for an append in progress, whose records are then removed too.
  yield* ask('DELETE FROM sessions WHERE id = ?', id)
  yield* dialect.removeDerived(id)
  for (const { table } of ALL_LOOKUPS) yield* ask(`DELETE FROM ${table} WHERE session = ?`, id)
  yield* ask('DELETE FROM records WHERE session = ?', id)
}

/** Reads every record once. If the file is damaged, its other parts are still read. */
export function* check(context: Context): Job<StoreProblem[]> {
  const { text: column } = context.dialect
  const problems: StoreProblem[] = []
  const heads = yield* unlessDamaged(context, problems, {}, () =>
    ask(
      `SELECT s.id, ${column('s.name')} AS name, s.version, ${column('t.name')} AS tenant
       FROM sessions s JOIN tenants t ON t.id = s.tenant ORDER BY s.id`,
    ),
  )
  for (const row of heads ?? []) {
    const head = { id: int(row, 'id'), version: int(row, 'version') }
    const [tenant, session] = [text(row, 'tenant'), text(row, 'name')]
    const found = yield* unlessDamaged(context, problems, { tenant, session }, () =>
      checkLog(context, tenant, session, head),
    )
    problems.push(...(found ?? []))
  }
  return problems
}

/** Undefined where the file is damaged, which becomes a problem. */
export function* unlessDamaged<T>(
  { dialect }: Context,
  problems: StoreProblem[],
  where: Pick<StoreProblem, 'tenant' | 'session'>,
  job: () => Job<T>,
): Job<T | undefined> {
  try {
    return yield* job()
  } catch (error) {
    if (dialect.isDamage?.(error) !== true) throw error
    problems.push({ kind: 'file', ...where, message: `It cannot be read to its end: ${(error as Error).message}` })
    return undefined
  }
}

/** Walks one log in the order of its versions and compares it with its head. */
function* checkLog(context: Context, tenant: string, session: string, head: SessionHead): Job<StoreProblem[]> {
  const { dialect, seal } = context
  const problems: StoreProblem[] = []
  const say = (kind: StoreProblem['kind'], version: number, message: string): void =>
    void problems.push({ kind, tenant, session, version, message })
  let expected = 1
  for (;;) {
    const rows = yield* ask(
      `SELECT ${recordColumns(context)} FROM records r WHERE session = ? AND version >= ? ORDER BY version LIMIT ${PAGE}`,
      head.id,
      expected,
    )
    for (const row of rows) {
      const version = int(row, 'version')
      if (version > expected) say('gap', expected, `Versions ${expected} to ${version - 1} are missing.`)
      expected = version + 1
      try {
        fromStored(seal, tenant, dialect.fromColumn(row['body']), text(row, 'sum'))
      } catch (error) {
        say('unreadable', version, messageOf(error))
      }
    }
    if (rows.length < PAGE) break
  }
  if (expected - 1 !== head.version)
    say('gap', expected, `The log ends at ${expected - 1}; its head says ${head.version}.`)
  return problems
}
