import { open as openFile, type FileHandle } from 'node:fs/promises'
import { setImmediate as nextTick, setTimeout as delay } from 'node:timers/promises'
import { endsTransaction, engineError, isBusy, type SqliteDatabase } from './database.ts'

interface Job {
  readonly isFlushed: boolean
  run(db: SqliteDatabase): unknown
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** What became of a job, to be told once it is committed. */
interface Outcome {
  readonly job: Job
  tell(): void
}

/** A transaction holds the lock of the whole file, and no request of this process gets its turn: what is left goes into the next one. */
const SLICE_MS = 10
const FIRST_WAIT_MS = 1
const LONGEST_WAIT_MS = 50
const LOCKED_MS = 250
/** One flush for all that was committed meanwhile without waiting for the disk. */
const SOON_MS = 50

/** Writes of one turn of the event loop share a transaction; each has its own savepoint, and one that fails takes nothing else along. */
export function writeQueue(path: string, open: () => Promise<SqliteDatabase>, lockTimeoutMs: number) {
  const waiting: Job[] = []
  const log = logFile(path)
  let running: Promise<void> | undefined
  let soon: NodeJS.Timeout | undefined
  /** Something acknowledged is not on disk yet. */
  let isOwed = false
  /** Another process held the lock all the time that the last write waited for it. */
  let isLocked = false

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      await nextTick()
      const batch = waiting.splice(0)
      try {
        const outcomes = await commit(batch)
        waiting.unshift(...batch.slice(outcomes.length))
        acknowledge(outcomes)
      } catch (error) {
        for (const job of batch) job.reject(engineError(error, path))
      }
    }
    running = undefined
  }

  async function commit(batch: readonly Job[]): Promise<readonly Outcome[]> {
    // An agent waits once, not with each of its writes.
    const deadline = performance.now() + Math.min(lockTimeoutMs, isLocked ? LOCKED_MS : lockTimeoutMs)
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        const outcomes = transact(await open(), batch, path)
        isLocked = false
        return outcomes
      } catch (error) {
        if (!isBusy(error)) throw error
        isLocked = performance.now() > deadline
        if (isLocked) throw error
      }
      // Another process writes. Jitter keeps those that failed together from trying together.
      await delay(wait * (0.5 + Math.random()))
    }
  }

  function acknowledge(outcomes: readonly Outcome[]): void {
    isOwed = true
    const patient = outcomes.filter(({ job }) => job.isFlushed)
    for (const outcome of outcomes) if (!outcome.job.isFlushed) outcome.tell()
    if (patient.length === 0) return void (soon ??= setTimeout(() => flush().catch(warn), SOON_MS))
    flush().then(
      () => patient.forEach(({ tell }) => tell()),
      (error: unknown) => patient.forEach(({ job }) => job.reject(engineError(error, path))),
    )
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
      throw error
    }
  }

  return {
    /**
     * Runs `job` in a transaction, which may take it back and run it again. Resolves after the commit: when it is on disk, or with
     * `flushed: false` at once, and it is on disk a moment later.
     */
    write: <T>(run: (db: SqliteDatabase) => T, { flushed = true }: { readonly flushed?: boolean } = {}): Promise<T> =>
      new Promise((resolve, reject) => {
        waiting.push({ run, isFlushed: flushed, resolve: resolve as (value: unknown) => void, reject })
        running ??= drain()
      }),
    /** Resolves when every write is on disk. Rejects when an acknowledged one cannot be put there. */
    async close(): Promise<void> {
      await running
      try {
        // One that is under way may fail, and then something is owed again.
        await log.settled()
        if (isOwed) await flush()
      } catch (error) {
        throw engineError(error, path)
      } finally {
        clearTimeout(soon)
        await log.close()
      }
    },
  }
}

/** As many jobs as there is time for. No await in here: reads of this process must not see half of it. */
function transact(db: SqliteDatabase, batch: readonly Job[], path: string): readonly Outcome[] {
  db.exec('BEGIN IMMEDIATE')
  try {
    const until = performance.now() + SLICE_MS
    const outcomes: Outcome[] = []
    for (const job of batch) {
      if (outcomes.length > 0 && performance.now() > until) break
      outcomes.push({ job, tell: attempt(db, job, path) })
    }
    db.exec('COMMIT')
    return outcomes
  } catch (error) {
    rollback(db)
    throw error
  }
}

function attempt(db: SqliteDatabase, job: Job, path: string): () => void {
  db.exec('SAVEPOINT job')
  try {
    const value = job.run(db)
    db.exec('RELEASE job')
    return () => job.resolve(value)
  } catch (error) {
    if (endsTransaction(error)) throw error
    db.exec('ROLLBACK TO job')
    db.exec('RELEASE job')
    return () => job.reject(engineError(error, path))
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
