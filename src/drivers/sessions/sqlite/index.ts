import { resolve } from 'node:path'
import { isPlimsollError, PlimsollError } from '../../../core/errors.ts'
import { systemClock, type Clock } from '../../../ports/clock.ts'
import type { MaintainedStore, StoreProblem } from '../../../ports/store-maintenance.ts'
import { plainSeal, type Seal, type Stored } from '../../crypto/seal.ts'
import { checkedStore, DEFAULT_LIST_LIMIT, DEFAULT_SEARCH_LIMIT } from '../checked-store.ts'
import { warnOfDamage, fromStored } from '../records.ts'
import { BoundedMap } from '../../../util/bounded-map.ts'
import {
  pagedLog,
  COUNTS,
  infoOf,
  statsOf,
  text,
  type CheckedHead,
  HOMELESS,
  homelessProblem,
  int,
  logCheck,
  LOOKUPS,
  orphanProblem,
  orphansIn,
  sessionHeads,
  tenantNames,
} from '../rows.ts'
import { connect, SCHEMA_VERSION, type Connection } from './schema.ts'
import { tenantId, type Context, headOf, readPage, append, ensureTenant, entryOf, fork, RECORD, remove } from './log.ts'
import { type SqliteDatabase, engineError, asBytes, isBusy } from './database.ts'
import { findEdits, findEpochs, seen, claimEpoch } from './lookups.ts'
import { search, wordIndex } from './words.ts'
import { setTimeout as delay } from 'node:timers/promises'
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
const READ_RETRY_MS = 5

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
  const context: Context = { seal, clock, onDamage, epochs: new BoundedMap(cacheBytes) }
  let connection: Promise<Connection> | undefined
  let isClosing = false
  let isClosed = false
  let closing: Promise<void> | undefined

  function opened(): Promise<Connection> {
    if (isClosed) return Promise.reject(new PlimsollError('closed', `The store ${path} is closed.`))
    return (connection ??= connect(path, seal).catch((error: unknown) => {
      connection = undefined
      throw error
    }))
  }

  const open = async (): Promise<SqliteDatabase> => (await opened()).db

  /** Readers wait only for a log that is being recovered; they do so without holding up the process. */
  async function ask<T>(job: (db: SqliteDatabase) => T): Promise<T> {
    for (const deadline = performance.now() + lockTimeoutMs; ; await delay(READ_RETRY_MS)) {
      try {
        return job(await open())
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw engineError(error, path)
      }
    }
  }

  const queue = writeQueue(path, open, lockTimeoutMs)
  const words = wordIndex(queue, ask, context)
  const write: typeof queue.write = (job, how) =>
    isClosing ? Promise.reject(new PlimsollError('closed', `The store ${path} is closed.`)) : queue.write(job, how)

  /** What was removed must not live on in the log of changes. Skipped while others are reading; the next checkpoint does it. */
  const forgetLog = (): Promise<unknown> => ask((db) => db.all('PRAGMA wal_checkpoint(TRUNCATE)'))

  async function tenants(): Promise<readonly string[]> {
    const rows = await ask((db) => db.all(tenantNames(asBytes('name'))))
    return rows.map((row) => text(row, 'name'))
  }

  function valueOf(db: SqliteDatabase, tenant: string, key: string): string | undefined {
    const row = db.all(
      `SELECT ${asBytes('value')} AS value FROM vals WHERE tenant = ? AND key = ?`,
      tenantId(db, tenant),
      key,
    )[0]
    return row === undefined ? undefined : seal.open(tenant, row['value'] as Stored)
  }

  async function close(): Promise<void> {
    isClosing = true
    words.close()
    try {
      await queue.close()
    } finally {
      isClosed = true
      const last = await connection?.catch(() => undefined)
      last?.db.close()
      context.epochs.clear()
    }
  }

  return checkedStore({
    name: 'sqlite',

    async append(tenant, session, records, expectedVersion, { durable = 'flushed', at } = {}) {
      const entries = records.map((record) => entryOf(context, tenant, record))
      const version = await write(
        (db) => append(db, context, tenant, session, entries, { expectedVersion, now: at ?? clock.now() }),
        { flushed: durable === 'flushed' },
      )
      words.note()
      return version
    },

    read(tenant, session, afterVersion = 0) {
      let id = 0
      return pagedLog(
        async () => {
          const head = await ask((db) => headOf(db, tenantId(db, tenant), session))
          id = head.id
          return head.version <= afterVersion ? undefined : afterVersion
        },
        (after) => ask((db) => readPage(db, context, tenant, { id, name: session }, after, PAGE)),
      )
    },

    version: (tenant, session) => ask((db) => headOf(db, tenantId(db, tenant), session).version),

    findEpochs: (tenant, hashes) => ask((db) => findEpochs(db, context, tenant, hashes)),
    claimEpoch: (tenant, session, epoch) => write((db) => claimEpoch(db, context, tenant, session, epoch)),
    findEdits: (tenant, keys) => ask((db) => findEdits(db, context, tenant, keys)),
    seen: (tenant, identities, { session } = {}) => ask((db) => seen(db, context, tenant, identities, session)),

    async list(tenant, { limit = DEFAULT_LIST_LIMIT, after = '' } = {}) {
      const rows = await ask((db) =>
        db.all(
          `SELECT ${asBytes('name')} AS name, version, bytes, created_at, updated_at FROM sessions
           WHERE tenant = ? AND name > ? ORDER BY sessions.name LIMIT ?`,
          tenantId(db, tenant),
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

    fork: (tenant, from, to, version) => write((db) => fork(db, context, tenant, from, to, version)),

    async remove(tenant, session) {
      const isRemoved = await write((db) => {
        const { id } = headOf(db, tenantId(db, tenant), session)
        if (id !== 0) remove(db, id)
        return id !== 0
      })
      if (isRemoved) await forgetLog()
      return isRemoved
    },

    async prune(tenant, before) {
      const names = await write((db) => {
        const rows = db.all(
          `SELECT id, ${asBytes('name')} AS name FROM sessions WHERE tenant = ? AND updated_at < ? ORDER BY sessions.name`,
          tenantId(db, tenant),
          before,
        )
        for (const row of rows) remove(db, int(row, 'id'))
        return rows.map((row) => text(row, 'name'))
      })
      if (names.length > 0) await forgetLog()
      return names
    },

    lease: (tenant, work, holder, ttlMs) =>
      write(
        (db) => {
          const now = clock.now()
          const taken = db.run(
            `INSERT INTO leases (tenant, work, holder, until) VALUES (?, ?, ?, ?) ON CONFLICT (tenant, work)
             DO UPDATE SET holder = excluded.holder, until = excluded.until WHERE holder = excluded.holder OR until <= ?`,
            ensureTenant(db, tenant),
            work,
            holder,
            now + ttlMs,
            now,
          )
          return taken > 0
        },
        { flushed: false },
      ),

    releaseLease: (tenant, work, holder) =>
      write(
        (db) => {
          const sql = 'DELETE FROM leases WHERE tenant = ? AND work = ? AND holder = ?'
          db.run(sql, tenantId(db, tenant), work, holder)
        },
        { flushed: false },
      ),

    getValue: (tenant, key) => ask((db) => valueOf(db, tenant, key)),

    setValue: (tenant, key, value, ifAbsent = false, { durable = 'flushed', session = null } = {}) =>
      write(
        (db) => {
          const existing = ifAbsent ? valueOf(db, tenant, key) : undefined
          if (existing !== undefined) return existing
          db.run(
            `INSERT INTO vals (tenant, key, value, session) VALUES (?, ?, ?, ?)
             ON CONFLICT (tenant, key) DO UPDATE SET value = excluded.value, session = excluded.session`,
            ensureTenant(db, tenant),
            key,
            seal.seal(tenant, value),
            session,
          )
          return value
        },
        { flushed: durable === 'flushed' },
      ),

    tenants,

    check: () => ask((db) => check(db, context)),

    async stats() {
      const disk = '(SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()) AS disk'
      return statsOf(await ask((db) => db.all(`SELECT ${COUNTS}, ${disk}`)[0]), {
        driver: 'sqlite',
        schemaVersion: SCHEMA_VERSION,
        sealed: seal.name !== 'plain',
        tenants: (await tenants()).length,
      })
    },

    migrate: async () => (await opened()).migrated,

    close: () => (closing ??= close()),
  })
}

/** Reads every page and every record once and compares the lookups with the logs. */
function check(db: SqliteDatabase, context: Context): StoreProblem[] {
  const damage = db
    .all(`SELECT ${asBytes('integrity_check')} AS message FROM pragma_integrity_check`)
    .map((row) => text(row, 'message'))
    .filter((message) => message !== 'ok')
    .map((message): StoreProblem => ({ kind: 'file', message }))
  const logs = db.all(sessionHeads(asBytes)).flatMap((row) =>
    checkLog(db, context, {
      id: int(row, 'id'),
      tenant: text(row, 'tenant'),
      name: text(row, 'name'),
      version: int(row, 'version'),
      bytes: int(row, 'bytes'),
    }),
  )
  const orphans = Object.values(LOOKUPS).flatMap(({ table }) =>
    db.all(orphansIn(table)).map((row) => orphanProblem(table, int(row, 'record'))),
  )
  return [...damage, ...logs, ...orphans, ...db.all(HOMELESS).map((row) => homelessProblem(int(row, 'id')))]
}

function checkLog(db: SqliteDatabase, { seal }: Context, head: CheckedHead): readonly StoreProblem[] {
  const log = logCheck(head)
  for (;;) {
    const rows = db.all(
      `SELECT r.id, ${RECORD} FROM records r WHERE session = ? AND version >= ? ORDER BY version LIMIT ?`,
      head.id,
      log.expected,
      PAGE,
    )
    for (const row of rows) {
      const body = row['body'] as Uint8Array
      log.see(
        int(row, 'version'),
        body.length,
        () => fromStored(seal, head.tenant, body, text(row, 'sum')),
        (index, key) => {
          const { table, column } = LOOKUPS[index]
          const found = db.all(
            `SELECT 1 FROM ${table} i JOIN tenants t ON t.id = i.tenant WHERE t.name = ? AND i.${column} = ? AND i.record = ?`,
            head.tenant,
            seal.blind(head.tenant, key),
            int(row, 'id'),
          )
          return found.length === 1
        },
      )
    }
    if (rows.length < PAGE) return log.end()
  }
}
