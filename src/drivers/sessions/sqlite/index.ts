import { resolve } from 'node:path'
import { isPlimsollError, PlimsollError } from '../../../core/errors.ts'
import { systemClock } from '../../../ports/clock.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { MaintainedStore, MigrationReport, StoreProblem } from '../../../ports/store-maintenance.ts'
import { plainSeal } from '../../crypto/seal.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'
import { checkedStore } from '../checked-store.ts'
import { DEFAULT_LIST_LIMIT, DEFAULT_SEARCH_LIMIT } from '../checks.ts'
import { warnOfDamage } from '../damage.ts'
import { BoundedMap } from '../../../lib/bounded-map.ts'
import { jointKey } from '../../../lib/joint-key.ts'
import { pagedLog } from '../paged-log.ts'
import { check } from './check.ts'
import { connect, reading } from './connect.ts'
import { COUNTS, infoOf, int, statsOf, TENANTS, text } from '../rows.ts'
import { ensureTenant, tenantId } from './context.ts'
import type { Context } from './context.ts'
import type { SqliteDatabase } from './database.ts'
import { engineError } from './engine-errors.ts'
import { append, fork, headOf, readPage, remove } from './log.ts'
import { claimEpoch, findEdits, findEpochs, seen } from './lookups.ts'
import { readCache } from './read-cache.ts'
import { SCHEMA_VERSION } from './schema.ts'
import { search } from './search.ts'
import { walFlush } from './wal-flush.ts'
import { wordIndexing } from './word-index.ts'
import { writeQueue } from './write-queue.ts'

export interface SqliteStoreOptions {
  /** The database file. It and its directory are made, for this user only, when the store is first used. */
  path: string
  /** How long a write waits for other processes. @default 10_000 */
  lockTimeoutMs?: number
  /** Bytes of parsed epochs kept in memory. @default 8 MiB */
  cacheBytes?: number
  /** Encryption at rest. @default none */
  seal?: Seal
  /** @default the system's clock */
  clock?: Clock
  /** Told of each record that cannot be read; reading goes on without it. @default a process warning */
  onDamage?: (problem: StoreProblem) => void
}

const PAGE = 256
/** What an entry of a cache takes beside its value, roughly. */
const ENTRY_BYTES = 200

/**
 * The embedded default: one file, any number of processes on one machine. A write is on disk when its promise resolves, power
 * loss included. The file is opened on first use.
 */
export function sqliteStore(options: SqliteStoreOptions): MaintainedStore {
  const {
    lockTimeoutMs = 10_000,
    cacheBytes = 8 * 1024 * 1024,
    seal = plainSeal,
    clock = systemClock,
    onDamage = warnOfDamage,
  } = options
  const path = resolve(options.path)
  const context: Context = { seal, clock, onDamage, epochs: new BoundedMap(cacheBytes), cache: readCache() }
  let connection: { db: SqliteDatabase; migrated: MigrationReport } | undefined
  let closed = false

  function open(): SqliteDatabase {
    if (closed) throw new PlimsollError('closed', `The store ${path} is closed.`)
    connection ??= connect(path, seal)
    return connection.db
  }

  const explain = (error: unknown): unknown => engineError(error, path)
  const log = walFlush(path)
  const { write, idle } = writeQueue(open, {
    lockTimeoutMs,
    explain,
    flushed: () => log.flushed(),
    onRollback: () => context.cache.clear(),
    onBegin: () => context.cache.recheck(),
  })
  const ask = <T>(job: (db: SqliteDatabase) => T): Promise<T> => reading(open, job, { lockTimeoutMs, explain })
  const find = (tenant: string, session: string) =>
    ask((db) => headOf(db, context, tenantId(db, context, tenant), session))

  const words = wordIndexing({ write, ask, context })

  async function tenants(): Promise<readonly string[]> {
    const rows = await ask((db) => db.all(TENANTS))
    return rows.map((row) => text(row, 'name'))
  }

  return checkedStore({
    name: 'sqlite',

    append: (tenant, session, records, expectedVersion, { durable = 'flushed', at } = {}) =>
      write((db) => {
        words.note()
        return append(db, context, tenant, session, records, expectedVersion, at)
      }, durable),

    read(tenant, session, afterVersion = 0) {
      let id = 0
      return pagedLog(
        async () => {
          const head = await find(tenant, session)
          id = head.id
          return head.version <= afterVersion ? undefined : afterVersion
        },
        (after) => ask((db) => readPage(db, context, tenant, { id, name: session }, after, PAGE)),
      )
    },

    version: (tenant, session) => ask((db) => headOf(db, context, tenantId(db, context, tenant), session).version),

    findEpochs: (tenant, hashes) => ask((db) => findEpochs(db, context, tenant, hashes)),

    async claimEpoch(tenant, session, epoch) {
      return write((db) => claimEpoch(db, context, tenant, session, epoch))
    },

    findEdits: (tenant, keys) => ask((db) => findEdits(db, context, tenant, keys)),
    seen: async (tenant, identities, { session } = {}) => ask((db) => seen(db, context, tenant, identities, session)),

    async list(tenant, { limit = DEFAULT_LIST_LIMIT, after = '' } = {}) {
      const rows = await ask((db) =>
        db.all(
          `SELECT s.name, version, bytes, created_at, updated_at FROM sessions s JOIN tenants t ON t.id = s.tenant
           WHERE t.name = ? AND s.name > ? ORDER BY s.name LIMIT ?`,
          tenant,
          after,
          limit,
        ),
      )
      return rows.map(infoOf)
    },

    async search(tenant, query, { session, limit = DEFAULT_SEARCH_LIMIT } = {}) {
      // A disk that takes nothing more still gives back what was found so far.
      await words.upToDate().catch((error: unknown) => {
        if (!isPlimsollError(error, 'store-unavailable')) throw error
      })
      return ask((db) => search(db, context, tenant, query, session, limit))
    },

    async fork(tenant, from, to, version) {
      const forked = await write((db) => fork(db, context, tenant, from, to, version))
      words.note()
      return forked
    },

    async remove(tenant, session) {
      const removed = await write((db) => {
        const { id } = headOf(db, context, tenantId(db, context, tenant), session)
        if (id !== 0) remove(db, context, id)
        return id !== 0
      })
      if (removed) await ask(forgetWal)
      return removed
    },

    async prune(tenant, before) {
      const names = await write((db) => {
        const rows = db.all(
          'SELECT id, name FROM sessions WHERE tenant = ? AND updated_at < ? ORDER BY name',
          tenantId(db, context, tenant) ?? 0,
          before,
        )
        for (const row of rows) remove(db, context, int(row, 'id'))
        return rows.map((row) => text(row, 'name'))
      })
      if (names.length > 0) await ask(forgetWal)
      return names
    },

    async lease(tenant, work, holder, ttlMs) {
      return write((db) => {
        const now = clock.now()
        const taken = db.run(
          `INSERT INTO leases (tenant, work, holder, until) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, work)
           DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE holder = excluded.holder OR until <= ?`,
          ensureTenant(db, context, tenant),
          work,
          holder,
          now + ttlMs,
          now,
        )
        return taken > 0
      }, 'passing')
    },

    async releaseLease(tenant, work, holder) {
      await write(
        (db) =>
          db.run(
            'DELETE FROM leases WHERE tenant = ? AND work = ? AND holder = ?',
            tenantId(db, context, tenant) ?? 0,
            work,
            holder,
          ),
        'passing',
      )
    },

    getValue: (tenant, key) => ask((db) => valueOf(db, tenant, key)),

    setValue: (tenant, key, value, ifAbsent = false, { durable = 'flushed', session = null } = {}) =>
      write((db) => {
        const existing = ifAbsent ? valueOf(db, tenant, key) : undefined
        if (existing !== undefined) return existing
        db.run(
          'INSERT INTO vals (tenant, key, value, session) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value, session = excluded.session',
          ensureTenant(db, context, tenant),
          key,
          seal.seal(tenant, value),
          session,
        )
        remember(tenant, key, value)
        return value
      }, durable),

    tenants,

    check: async () => ask((db) => check(db, context)),

    async stats() {
      const row = await ask(
        (db) =>
          db.all(
            `SELECT ${COUNTS},
             (SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()) AS disk`,
          )[0],
      )
      return statsOf(row, {
        driver: 'sqlite',
        schemaVersion: SCHEMA_VERSION,
        sealed: seal.name !== 'plain',
        tenants: (await tenants()).length,
      })
    },

    async migrate() {
      await ask(() => undefined)
      return connection?.migrated ?? { from: SCHEMA_VERSION, to: SCHEMA_VERSION, applied: [] }
    },

    async close() {
      words.close()
      try {
        await idle()
      } finally {
        await log.close()
        closed = true
        connection?.db.close()
        connection = undefined
        context.epochs.clear()
      }
    },
  })

  function valueOf(db: SqliteDatabase, tenant: string, key: string): string | undefined {
    context.cache.refresh(db)
    const known = context.cache.values.get(jointKey(tenant, key))
    if (known !== undefined) return known.value
    const row = db.all(
      'SELECT value FROM vals WHERE tenant = ? AND key = ?',
      tenantId(db, context, tenant) ?? 0,
      key,
    )[0]
    const value = row === undefined ? undefined : seal.open(tenant, row['value'] as Stored)
    remember(tenant, key, value)
    return value
  }

  function remember(tenant: string, key: string, value: string | undefined): void {
    context.cache.values.set(jointKey(tenant, key), { value }, ENTRY_BYTES + (value?.length ?? 0))
  }
}

/** What was removed must not live on in the log of changes. Skipped when others are reading; the next checkpoint does it. */
function forgetWal(db: SqliteDatabase): void {
  db.all('PRAGMA wal_checkpoint(TRUNCATE)')
}
