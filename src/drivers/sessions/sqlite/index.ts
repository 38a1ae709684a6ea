import { resolve } from 'node:path'
import { isPlimsollError, PlimsollError } from '../../../core/errors.ts'
import { systemClock, type Clock } from '../../../ports/clock.ts'
import type { MaintainedStore, MigrationReport, StoreProblem } from '../../../ports/store-maintenance.ts'
import { plainSeal, type Seal } from '../../crypto/seal.ts'
import { checkedStore } from '../checked-store.ts'
import { DEFAULT_LIST_LIMIT, DEFAULT_SEARCH_LIMIT } from '../checks.ts'
import { warnOfDamage } from '../damage.ts'
import { BoundedMap } from '../../../util/bounded-map.ts'
import { pagedLog } from '../paged-log.ts'
import { check } from './check.ts'
import { connect, reading } from './connect.ts'
import { COUNTS, infoOf, statsOf, TENANTS, text } from '../rows.ts'
import { tenantId, type Context } from './context.ts'
import type { SqliteDatabase } from './database.ts'
import { engineError } from './engine-errors.ts'
import { entriesOf } from './entries.ts'
import { valueOf } from './jobs.ts'
import { headOf, readPage } from './log.ts'
import { findEdits, findEpochs, seen } from './lookups.ts'
import { readCache, type SessionHead } from './read-cache.ts'
import { SCHEMA_VERSION } from './schema.ts'
import { search } from './search.ts'
import { writers } from './writers.ts'

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
  /**
   * Writes of this process after which a thread makes them; the first ones are made where they are asked for. 0: from the first on,
   * Infinity: never. With encryption there is no thread. @default 200
   */
  threadAfter?: number
  /** Told of each record that cannot be read; reading goes on without it. @default a process warning */
  onDamage?: (problem: StoreProblem) => void
}

const PAGE = 256
/** A thread takes some tens of milliseconds to start, and ten megabytes: not for a program that writes a few records. */
const THREAD_AFTER = 200

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
    threadAfter = THREAD_AFTER,
  } = options
  const path = resolve(options.path)
  const context: Context = {
    seal,
    clock,
    onDamage,
    epochs: new BoundedMap(cacheBytes),
    cache: readCache((db) => writer.othersVersion(db)),
  }
  let connection: { db: SqliteDatabase; migrated: MigrationReport } | undefined
  let closed = false
  let closing: Promise<void> | undefined

  function open(): SqliteDatabase {
    if (closed) throw new PlimsollError('closed', `The store ${path} is closed.`)
    connection ??= connect(path, seal)
    return connection.db
  }

  /**
   * After a commit of its thread the main connection has to read pages anew to see whose commit it was, which takes a tenth of a millisecond
   * where the processor's caches are cold. It does so while nobody waits, and the next request finds that nothing has changed since.
   */
  function lookAhead(): void {
    if (closed || connection === undefined) return
    try {
      context.cache.refresh(connection.db)
    } catch {
      // Whoever asks for something is told.
    }
    context.cache.recheck()
  }

  const explain = (error: unknown): unknown => engineError(error, path)
  const writer = writers({
    path,
    open,
    context,
    lockTimeoutMs,
    explain,
    threadAfter: seal === plainSeal ? threadAfter : Infinity,
    onThreadAnswer: lookAhead,
  })
  const ask = <T>(job: (db: SqliteDatabase) => T): Promise<T> => reading(open, job, { lockTimeoutMs, explain })
  const find = (tenant: string, session: string) =>
    ask((db) => headOf(db, context, tenantId(db, context, tenant), session))

  async function tenants(): Promise<readonly string[]> {
    const rows = await ask((db) => db.all(TENANTS))
    return rows.map((row) => text(row, 'name'))
  }

  async function close(): Promise<void> {
    try {
      await writer.close()
    } finally {
      closed = true
      connection?.db.close()
      connection = undefined
      context.epochs.clear()
    }
  }

  return checkedStore({
    name: 'sqlite',

    append: (tenant, session, records, expectedVersion, { durable = 'flushed', at } = {}) =>
      writer.run('append', [tenant, session, entriesOf(records), expectedVersion, at], durable).then(versionOf),

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
      return writer.run('claimEpoch', [tenant, session, epoch])
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
      await writer.indexWords().catch((error: unknown) => {
        if (!isPlimsollError(error, 'store-unavailable')) throw error
      })
      return ask((db) => search(db, context, tenant, query, session, limit))
    },

    fork: async (tenant, from, to, version) => writer.run('fork', [tenant, from, to, version]),

    async remove(tenant, session) {
      const removed = await writer.run('remove', [tenant, session])
      if (removed) await writer.forgetLog()
      return removed
    },

    async prune(tenant, before) {
      const names = await writer.run('prune', [tenant, before])
      if (names.length > 0) await writer.forgetLog()
      return names
    },

    lease: async (tenant, work, holder, ttlMs) => writer.run('lease', [tenant, work, holder, ttlMs], 'passing'),
    releaseLease: async (tenant, work, holder) => writer.run('releaseLease', [tenant, work, holder], 'passing'),

    getValue: (tenant, key) => ask((db) => valueOf(db, context, tenant, key)),

    setValue: (tenant, key, value, ifAbsent = false, { durable = 'flushed', session = null } = {}) =>
      writer.run('setValue', [tenant, key, value, ifAbsent, session], durable),

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

    close: () => (closing ??= close()),
  })
}

const versionOf = ({ version }: SessionHead): number => version
