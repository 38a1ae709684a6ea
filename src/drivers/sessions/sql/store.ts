import { systemClock, type Clock } from '../../../ports/clock.ts'
import type { MaintainedStore, MigrationReport, StoreProblem } from '../../../ports/store-maintenance.ts'
import { plainSeal, type Seal } from '../../crypto/seal.ts'
import { checkedStore, DEFAULT_LIST_LIMIT, DEFAULT_SEARCH_LIMIT } from '../checked-store.ts'
import { warnOfDamage } from '../records.ts'
import { ask, int, text, type Context, type Dialect, type Job } from './job.ts'
import { append, check, ensureTenant, fork, headOf, readPage, remove, TENANT } from './log.ts'
import { claimEpoch, findEdits, findEpochs, search, seen } from './lookups.ts'

/** What every store over a database takes. */
export interface SqlStoreOptions {
  /** Encryption at rest. @default none */
  seal?: Seal
  /** @default the system's clock; on Postgres that of the server, which all machines share */
  clock?: Clock
  /** Told of each record that cannot be read; reading goes on without it. @default a process warning */
  onDamage?: (problem: StoreProblem) => void
}

export interface WriteHow {
  /** False: it may be on disk a moment later. @default true */
  readonly flushed?: boolean
  /** A broken connection is not tried again, since the job cannot tell whether it is done. @default false */
  readonly once?: boolean
  /** Nobody's request waits for it. @default false */
  readonly patient?: boolean
}

/** A database that the store is opened on. Jobs are made anew for each attempt. */
export interface SqlConnection {
  readonly dialect: Dialect
  readonly schemaVersion: number
  readonly isShared: boolean
  read<T>(job: () => Job<T>): Promise<T>
  /** Runs a check of the whole store as of one moment, with what the database itself says about its file. */
  check(job: () => Job<readonly StoreProblem[]>): Promise<readonly StoreProblem[]>
  /** Runs a job in a transaction. `isAgain`: an attempt before may have written it. */
  write<T>(job: (isAgain: boolean) => Job<T>, how?: WriteHow): Promise<T>
  migrate(): Promise<MigrationReport>
  close(): Promise<void>
  /** Something was appended. */
  appended?(): void
  /** Something was removed. */
  removed?(): Promise<unknown>
  /** Brings the search index up to date. */
  indexed?(): Promise<void>
}

/** What jobs are given on a database. */
export const contextOf = (dialect: Dialect, options: SqlStoreOptions): Context => {
  const { seal = plainSeal, clock, onDamage = warnOfDamage } = options
  return {
    dialect,
    seal,
    onDamage,
    *now() {
      if (clock !== undefined || dialect.serverNow === undefined) return (clock ?? systemClock).now()
      return int((yield* ask(`SELECT ${dialect.serverNow} AS now`))[0], 'now')
    },
  }
}

/** The contract of a store, over a database that runs jobs. One function, since it is a list of calls. */
export function sqlStore(name: 'sqlite' | 'postgres', connection: SqlConnection, context: Context): MaintainedStore {
  const { read, write, dialect } = connection
  const { seal } = context

  function* valueOf(tenant: string, key: string): Job<string | undefined> {
    const [row] = yield* ask(
      `SELECT ${dialect.text('value')} AS value FROM vals WHERE tenant = ${TENANT} AND key = ?`,
      tenant,
      key,
    )
    return row === undefined ? undefined : seal.open(tenant, dialect.fromColumn(row['value']))
  }

  const tenants = (): Promise<readonly string[]> =>
    read(function* () {
      const rows = yield* ask(
        `SELECT ${dialect.text('t.name')} AS name FROM tenants t WHERE EXISTS (SELECT 1 FROM sessions WHERE tenant = t.id)
         OR EXISTS (SELECT 1 FROM vals WHERE tenant = t.id) ORDER BY t.name`,
      )
      return rows.map((row) => text(row, 'name'))
    })

  return checkedStore({
    name,
    isShared: connection.isShared,

    async append(tenant, session, records, expectedVersion, { durable = 'flushed', at } = {}) {
      const batch = crypto.randomUUID()
      const version = await write(
        (isAgain) => append(context, tenant, session, records, { expectedVersion, at, batch, isAgain }),
        { flushed: durable === 'flushed' },
      )
      connection.appended?.()
      return version
    },

    /** Page by page, which keeps a long session from being held in memory twice. */
    async *read(tenant, session, afterVersion = 0) {
      for (let after: number | undefined = afterVersion; after !== undefined;) {
        const from: number = after
        const page = await read(() => readPage(context, tenant, session, from))
        yield* page.records
        after = page.last
      }
    },

    version: async (tenant, session) => (await read(() => headOf(tenant, session))).version,
    findEpochs: (tenant, hashes) => read(() => findEpochs(context, tenant, hashes)),
    claimEpoch: (tenant, session, epoch) => write(() => claimEpoch(context, tenant, session, epoch)),
    findEdits: (tenant, keys) => read(() => findEdits(context, tenant, keys)),
    seen: (tenant, identities, { session } = {}) => read(() => seen(context, tenant, identities, session)),

    async list(tenant, { limit = DEFAULT_LIST_LIMIT, after = '' } = {}) {
      const rows = await read(() =>
        ask(
          `SELECT ${dialect.text('s.name')} AS name, version, bytes, created_at, updated_at FROM sessions s
           WHERE tenant = ${TENANT} AND s.name > ? ORDER BY s.name LIMIT ?`,
          tenant,
          after,
          limit,
        ),
      )
      return rows.map((row) => ({
        session: text(row, 'name'),
        version: int(row, 'version'),
        createdAt: int(row, 'created_at'),
        updatedAt: int(row, 'updated_at'),
        bytes: int(row, 'bytes'),
      }))
    },

    async search(tenant, query, { limit = DEFAULT_SEARCH_LIMIT, ...options } = {}) {
      await connection.indexed?.()
      return read(() => search(context, tenant, query, { ...options, limit }))
    },

    fork: (tenant, from, to, version) =>
      write(() => fork(context, tenant, from, to, version), { once: true, patient: true }),

    async remove(tenant, session) {
      const isRemoved = await write(
        function* () {
          const { id } = yield* headOf(tenant, session)
          if (id !== 0) yield* remove(context, id)
          return id !== 0
        },
        { patient: true },
      )
      if (isRemoved) await connection.removed?.()
      return isRemoved
    },

    async prune(tenant, before) {
      const names = await write(
        function* () {
          const rows = yield* ask(
            `SELECT id, ${dialect.text('s.name')} AS name FROM sessions s WHERE tenant = ${TENANT} AND updated_at < ?
           ORDER BY s.name${dialect.forUpdate}`,
            tenant,
            before,
          )
          for (const row of rows) yield* remove(context, int(row, 'id'))
          return rows.map((row) => text(row, 'name'))
        },
        { patient: true },
      )
      if (names.length > 0) await connection.removed?.()
      return names
    },

    lease: (tenant, work, holder, ttlMs) =>
      write(
        function* () {
          const now = yield* context.now()
          const taken = yield* ask(
            `INSERT INTO leases AS l (tenant, work, holder, until) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, work)
             DO UPDATE SET holder = excluded.holder, until = excluded.until
             WHERE l.holder = excluded.holder OR l.until <= ? RETURNING 1 AS taken`,
            yield* ensureTenant(tenant),
            work,
            holder,
            now + Math.ceil(ttlMs),
            now,
          )
          return taken.length > 0
        },
        { flushed: false },
      ),

    async releaseLease(tenant, work, holder) {
      const sql = `DELETE FROM leases WHERE tenant = ${TENANT} AND work = ? AND holder = ?`
      await write(() => ask(sql, tenant, work, holder), { flushed: false })
    },

    getValue: (tenant, key) => read(() => valueOf(tenant, key)),

    setValue: (tenant, key, value, ifAbsent = false, { durable = 'flushed', session = null } = {}) =>
      write(
        function* () {
          const taken = ifAbsent ? 'NOTHING' : 'UPDATE SET value = excluded.value, session = excluded.session'
          yield* ask(
            `INSERT INTO vals (tenant, key, value, session) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, key) DO ${taken}`,
            yield* ensureTenant(tenant),
            key,
            dialect.toColumn(seal.seal(tenant, value)),
            session,
          )
          return ifAbsent ? ((yield* valueOf(tenant, key)) ?? value) : value
        },
        { flushed: durable === 'flushed' },
      ),

    tenants,
    check: () => connection.check(() => check(context)),

    async stats() {
      const [row] = await read(() =>
        ask(
          `SELECT (SELECT COUNT(*) FROM sessions) AS sessions, (SELECT COALESCE(SUM(version), 0) FROM sessions) AS records,
             (SELECT COALESCE(SUM(bytes), 0) FROM sessions) AS bytes,
             (SELECT COUNT(*) FROM (SELECT DISTINCT tenant, cover, epoch FROM epochs) e) AS epochs, (${dialect.disk}) AS disk`,
        ),
      )
      return {
        driver: name,
        schemaVersion: connection.schemaVersion,
        sealed: seal.name !== 'plain',
        tenants: (await tenants()).length,
        sessions: int(row, 'sessions'),
        records: int(row, 'records'),
        recordBytes: int(row, 'bytes'),
        epochs: int(row, 'epochs'),
        diskBytes: int(row, 'disk'),
      }
    },

    migrate: () => connection.migrate(),
    close: () => connection.close(),
  })
}
