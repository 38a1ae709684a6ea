import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import type { Context } from './context.ts'
import { reading } from './connect.ts'
import type { SqliteDatabase } from './database.ts'
import { jobs, type ArgsOf, type JobName, type ResultOf } from './jobs.ts'
import { writerMark } from './last-writer.ts'
import { walFlush } from './wal-flush.ts'
import { wordIndexing } from './word-index.ts'
import { writeQueue, type Durability } from './write-queue.ts'

/** The one who changes the database for this process. */
export interface Writer {
  /** Resolves when it is committed, and as durable as was asked. @default 'flushed' */
  run<K extends JobName>(name: K, args: ArgsOf<K>, durability?: Durability): Promise<ResultOf<K>>
  /** Brings the search index up to date. */
  indexWords(): Promise<void>
  /** What was removed must not live on in the log of changes. Skipped while others are reading; the next checkpoint does it. */
  forgetLog(): Promise<void>
  /** Resolves when all that was asked for is written; rejects when something acknowledged is not on disk. */
  close(): Promise<void>
}

export interface LocalWriter extends Writer {
  /** Nothing is being written or waits for it. */
  isIdle(): boolean
  /** Something acknowledged is not on disk yet. */
  isOwed(): boolean
  /** Another writer takes over. */
  rest(): void
  /** And back: what that one committed is put on disk. */
  resume(): void
}

export interface LocalWriterOptions {
  readonly path: string
  readonly open: () => SqliteDatabase
  readonly context: Context
  readonly lockTimeoutMs: number
  readonly explain: (error: unknown) => unknown
  /** What it is called in the database. @default a name of its own */
  readonly name?: string
  /** Somebody else has committed since the last transaction. */
  readonly onOthers?: () => void
  readonly onCommit?: () => void
  /** What was acknowledged before it was on disk is there now, or cannot be. */
  readonly onFlushed?: () => void
}

/** Writes on the thread that asks for it. */
export function localWriter(options: LocalWriterOptions): LocalWriter {
  const { path, open, context, lockTimeoutMs, explain, name = randomUUID() } = options
  const { onOthers = nothing, onCommit = nothing, onFlushed = nothing } = options
  const log = walFlush(path)
  const mark = writerMark(name, onOthers)
  const { write, idle, isIdle, isOwed, flushNow } = writeQueue(open, {
    lockTimeoutMs,
    explain,
    flushed: () => log.flushed(),
    onRollback() {
      context.cache.clear()
      mark.rollback()
    },
    onBegin(db) {
      context.cache.recheck()
      mark.begin(db)
    },
    onCommit,
    onFlushed,
  })
  const ask = <T>(job: (db: SqliteDatabase) => T): Promise<T> => reading(open, job, { lockTimeoutMs, explain })
  const words = wordIndexing({ write, ask, context })

  return {
    run<K extends JobName>(name: K, args: ArgsOf<K>, durability?: Durability) {
      if (name === 'append' || name === 'fork') words.note()
      const job: (db: SqliteDatabase, context: Context, ...args: ArgsOf<K>) => ResultOf<K> = jobs[name]
      return write((db) => job(db, context, ...args), durability)
    },
    indexWords: () => words.upToDate(),
    forgetLog: () => ask((db) => void db.all('PRAGMA wal_checkpoint(TRUNCATE)')),
    isIdle,
    isOwed,
    rest: () => words.rest(),
    resume() {
      // Without a log there is nothing that is not in the database.
      if (existsSync(`${path}-wal`)) flushNow()
    },
    async close() {
      words.close()
      try {
        await idle()
      } finally {
        await log.close()
      }
    },
  }
}

const nothing = (): void => undefined
