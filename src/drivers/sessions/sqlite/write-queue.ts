import { setTimeout as delay } from 'node:timers/promises'
import type { SqliteDatabase } from './database.ts'
import { endsTransaction, isBusy } from './engine-errors.ts'

interface Job {
  readonly passing: boolean
  run(db: SqliteDatabase): unknown
  resolve(value: unknown): void
  reject(error: unknown): void
}

export interface WriteQueueOptions {
  /** How long a write waits for other processes before it fails. */
  readonly lockTimeoutMs: number
  readonly explain: (error: unknown) => unknown
  /** Resolves when what was committed is on disk. */
  readonly flushed: () => Promise<void>
}

export interface WriteQueue {
  /** Runs `job` in a transaction; resolves after the commit, when it is on disk. */
  readonly write: <T>(job: (db: SqliteDatabase) => T) => Promise<T>
  /** The same for what is worth nothing after a power cut: it survives a kill, and no flush is waited for. */
  readonly writePassing: <T>(job: (db: SqliteDatabase) => T) => Promise<T>
  /** Resolves when everything that was asked for is written or failed. */
  readonly idle: () => Promise<void>
}

// A transaction holds the lock of the whole file; a bound keeps other processes from waiting for one long batch.
const MAX_BATCH = 64
const FIRST_WAIT_MS = 1
const LONGEST_WAIT_MS = 50

/**
 * Writes that arrive together share a commit; each keeps its own savepoint, and one that fails takes nothing else along. A flush to
 * disk costs far more than the rows in it: it runs beside the process, and all commits before it share it.
 */
export function writeQueue(open: () => SqliteDatabase, options: WriteQueueOptions): WriteQueue {
  const { lockTimeoutMs, explain, flushed } = options
  const waiting: Job[] = []
  let running: Promise<void> | undefined
  const flushing = new Set<Promise<void>>()

  function add<T>(run: (db: SqliteDatabase) => T, passing: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      waiting.push({ run, passing, resolve, reject })
      running ??= drain()
    })
  }

  async function drain(): Promise<void> {
    await Promise.resolve()
    while (waiting.length > 0) {
      const batch = waiting.splice(0, MAX_BATCH)
      try {
        const deadline = performance.now() + lockTimeoutMs
        // No await between BEGIN and COMMIT: a second handle in this process would wait for a lock that cannot be given back.
        for (let wait = FIRST_WAIT_MS; !attempt(open(), batch, deadline); wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
          // Jitter keeps processes that failed together from trying together.
          await delay(wait * (0.5 + Math.random()))
        }
      } catch (error) {
        for (const job of batch) job.reject(explain(error))
      }
    }
    running = undefined
  }

  return {
    write: (run) => add(run, false),
    writePassing: (run) => add(run, true),
    async idle() {
      await running
      await Promise.all(flushing)
    },
  }

  /** False when another process holds the lock: waiting inside the engine would hold up every request of this one. */
  function attempt(db: SqliteDatabase, batch: readonly Job[], deadline: number): boolean {
    try {
      db.exec('BEGIN IMMEDIATE')
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error
      return false
    }
    const outcomes: Outcome[] = []
    try {
      for (const job of batch) {
        db.exec('SAVEPOINT job')
        try {
          const value = job.run(db)
          outcomes.push({ job, settle: () => job.resolve(value) })
        } catch (error) {
          if (endsTransaction(error)) throw error
          db.exec('ROLLBACK TO job')
          outcomes.push({ job, settle: () => job.reject(explain(error)) })
        }
        db.exec('RELEASE job')
      }
      db.exec('COMMIT')
    } catch (error) {
      rollback(db)
      throw error
    }
    settleAll(outcomes)
    return true
  }

  /** Acknowledged is on disk; what is worth nothing after a power cut is acknowledged at once. */
  function settleAll(outcomes: readonly Outcome[]): void {
    for (const { job, settle } of outcomes) if (job.passing) settle()
    const durable = outcomes.filter(({ job }) => !job.passing)
    if (durable.length === 0) return
    const flush = flushed().then(
      () => durable.forEach(({ settle }) => settle()),
      (error: unknown) => durable.forEach(({ job }) => job.reject(explain(error))),
    )
    flushing.add(flush)
    void flush.finally(() => flushing.delete(flush))
  }
}

interface Outcome {
  readonly job: Job
  settle(): void
}

/** The engine may have rolled back already; then there is nothing left to do. */
function rollback(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // No transaction is open.
  }
}
