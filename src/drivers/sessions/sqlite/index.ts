import { resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { isPlimsollError, PlimsollError } from '../../../core/errors.ts'
import type { MaintainedStore, StoreProblem } from '../../../ports/store-maintenance.ts'
import { plainSeal, type Stored } from '../../crypto/seal.ts'
import { ask, runAtOnce, text, type Dialect, type Job, type Row } from '../sql/job.ts'
import { unlessDamaged } from '../sql/log.ts'
import { contextOf, sqlStore, type SqlConnection, type SqlStoreOptions, type WriteHow } from '../sql/store.ts'
import { asBytes, engineError, isBusy, isDamage, type SqliteDatabase } from './database.ts'
import { connect, SCHEMA_VERSION, type Connection } from './schema.ts'
import { wordIndex } from './words.ts'
import { writeQueue } from './write-queue.ts'

export interface SqliteStoreOptions extends SqlStoreOptions {
  /** The database file. It and its directory are made, for this user only, when the store is first used. */
  path: string
  /** How long a write waits for another process; the writes after it wait a quarter of a second until one gets through. @default 8_000 */
  lockTimeoutMs?: number
}

const READ_RETRY_MS = 5

const SQLITE: Dialect = {
  text: asBytes,
  each: 'SELECT CAST(value AS TEXT) FROM json_each(?)',
  forUpdate: '',
  toColumn: (stored) => stored,
  fromColumn: (value) => value as Stored,
  size: (column) => `LENGTH(${asBytes(column)})`,
  isDamage,
  disk: 'SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()',
  *insert(table, rows, ending = '') {
    const added: Row[] = []
    for (const row of rows) {
      const columns = Object.keys(row)
      const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')}) ${ending}`
      added.push(...(yield* ask(sql, ...Object.values(row))))
    }
    return added
  },
  hasBatches: false,
  firstEdits: 'edits',
  words: { from: 'words', record: 'words.rowid', match: 'words MATCH ?', and: ' AND ', or: ' OR ' },
  quote: '"',
  removeDerived: (session) =>
    ask('DELETE FROM words WHERE rowid IN (SELECT record FROM items WHERE session = ?)', session),
}

/** Runs a job through; nothing else of this process comes between. */
const run = <T>(db: SqliteDatabase, job: Job<T>): T => runAtOnce(job, ({ sql, values }) => db.all(sql, ...values))

/**
 * The embedded default: one file, any number of processes on one machine. A write is on disk when its promise resolves, power
 * loss included. The file is opened on first use.
 */
export function sqliteStore(options: SqliteStoreOptions): MaintainedStore {
  const { lockTimeoutMs = 8_000, seal = plainSeal } = options
  const path = resolve(options.path)
  const context = contextOf(SQLITE, options)
  let connection: Promise<Connection> | undefined
  let isClosing = false
  let isClosed = false
  let closing: Promise<void> | undefined

  function opened(): Promise<Connection> {
    if (isClosed) return Promise.reject(closedError(path))
    return (connection ??= connect(path, seal).catch((error: unknown) => {
      connection = undefined
      throw error
    }))
  }

  const open = async (): Promise<SqliteDatabase> => (await opened()).db

  /** Readers wait only for a log that is being recovered; they do so without holding up the process. */
  async function read<T>(job: () => Job<T>): Promise<T> {
    for (const deadline = performance.now() + lockTimeoutMs; ; await delay(READ_RETRY_MS)) {
      try {
        return run(await open(), job())
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw engineError(error, path)
      }
    }
  }

  const queue = writeQueue(path, open, lockTimeoutMs)
  const write = <T>(job: (isAgain: boolean) => Job<T>, how: WriteHow = {}): Promise<T> =>
    queue.write((db) => run(db, job(false)), how)
  const words = wordIndex({ read, write }, context)

  async function close(): Promise<void> {
    isClosing = true
    words.close()
    try {
      await queue.close()
    } finally {
      isClosed = true
      const last = await connection?.catch(() => undefined)
      last?.db.close()
    }
  }

  const own: SqlConnection = {
    dialect: SQLITE,
    schemaVersion: SCHEMA_VERSION,
    isShared: false,
    read,
    check: (job) =>
      read(function* () {
        const problems: StoreProblem[] = []
        const ofFile = `SELECT ${asBytes('integrity_check')} AS message FROM pragma_integrity_check`
        const damage = yield* unlessDamaged(context, problems, {}, () => ask(ofFile))
        const messages = (damage ?? []).map((row) => text(row, 'message')).filter((message) => message !== 'ok')
        return [...problems, ...messages.map((message) => ({ kind: 'file' as const, message })), ...(yield* job())]
      }),
    write: (job, how) => (isClosing ? Promise.reject(closedError(path)) : write(job, how)),
    migrate: async () => (await opened()).migrated,
    close: () => (closing ??= close()),
    appended: words.note,
    // What was removed must not live on in the log of changes. Skipped while others are reading; the next checkpoint does it.
    removed: () => read(() => ask('PRAGMA wal_checkpoint(TRUNCATE)')),
    // A disk that takes nothing more still gives back what was found so far.
    indexed: () =>
      words.upToDate().catch((error: unknown) => {
        if (!isPlimsollError(error, 'store-unavailable')) throw error
      }),
  }
  return sqlStore('sqlite', own, context)
}

const closedError = (path: string): PlimsollError => new PlimsollError('closed', `The store ${path} is closed.`)
