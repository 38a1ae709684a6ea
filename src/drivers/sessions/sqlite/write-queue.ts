import { open as openFile, type FileHandle } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { mutex } from '../../../util/mutex.ts'
import { yieldNow } from '../../../util/yield-now.ts'
import { engineError, isBusy, type SqliteDatabase } from './database.ts'

/** Many writes that wait must not keep requests from their turn for longer than this. */
const SLICE_MS = 10
const FIRST_WAIT_MS = 1
const LONGEST_WAIT_MS = 50
/** One flush for all that was committed meanwhile without waiting for the disk. */
const SOON_MS = 50

/** Writes of this process, one after the other, each in a transaction. One flush to the disk serves all that wait for it. */
export function writeQueue(path: string, open: () => Promise<SqliteDatabase>, lockTimeoutMs: number) {
  const inTurn = mutex()
  const pause = yieldNow(SLICE_MS)
  const log = logFile(path)
  let soon: NodeJS.Timeout | undefined
  /** Something acknowledged is not on disk yet. */
  let isOwed = false

  async function commit<T>(run: (db: SqliteDatabase) => T): Promise<T> {
    await pause()
    const deadline = performance.now() + lockTimeoutMs
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        const value = transact(await open(), run)
        isOwed = true
        return value
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
      }
      // Another process writes. Jitter keeps those that failed together from trying together.
      await delay(wait * (0.5 + Math.random()))
    }
  }

  /** Everything that was committed before. */
  async function flush(): Promise<void> {
    clearTimeout(soon)
    soon = undefined
    isOwed = false
    try {
      await log.flushed()
    } catch (error) {
      isOwed = true
      throw engineError(error, path)
    }
  }

  return {
    /**
     * Runs `job` in a transaction, which may take it back and run it again. Resolves after the commit: when it is on disk, or with
     * `flushed: false` at once, and it is on disk a moment later.
     */
    async write<T>(
      run: (db: SqliteDatabase) => T,
      { flushed = true }: { readonly flushed?: boolean } = {},
    ): Promise<T> {
      const value = await inTurn(() => commit(run)).catch((error: unknown) => {
        throw engineError(error, path)
      })
      if (flushed) await flush()
      else soon ??= setTimeout(() => flush().catch(warn), SOON_MS)
      return value
    },
    /** Resolves when every write is on disk. Rejects when an acknowledged one cannot be put there. */
    async close(): Promise<void> {
      await inTurn(async () => undefined)
      try {
        // One that is under way may fail, and then something is owed again.
        await log.settled()
        if (isOwed) await flush()
      } finally {
        clearTimeout(soon)
        await log.close()
      }
    },
  }
}

/** No await in here: reads of this process must not see half of it. */
function transact<T>(db: SqliteDatabase, run: (db: SqliteDatabase) => T): T {
  db.exec('BEGIN IMMEDIATE')
  try {
    const value = run(db)
    db.exec('COMMIT')
    return value
  } catch (error) {
    rollback(db)
    throw error
  }
}

/** The engine may have rolled back already; then there is nothing left to do. */
function rollback(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // No transaction is open.
  }
}

const warn = (error: unknown): void =>
  process.emitWarning(`Plimsoll: a flush of the store failed: ${(error as Error).message}`)

/**
 * Puts the write-ahead log on disk from a thread of Node's pool, so that a slow disk delays only those who wait for it. The log takes no
 * locks, so a second handle on it is safe; it stays the same file for as long as the connection is open.
 */
function logFile(path: string) {
  let file: FileHandle | undefined
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined

  async function flush(): Promise<void> {
    next = undefined
    file ??= await openFile(`${path}-wal`, 'r+')
    await file.datasync()
  }

  return {
    /** A flush that runs may have begun before the commit: all calls until it ends share the next one. */
    flushed: () => (next ??= last = last.catch(ignore).then(flush)),
    settled: () => last.catch(ignore),
    close: async (): Promise<void> => file?.close(),
  }
}

const ignore = (): void => undefined
