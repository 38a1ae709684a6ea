import { setTimeout as delay } from 'node:timers/promises'
import type { Durable } from '../../../ports/session-store.ts'
import type { SqliteDatabase } from './database.ts'
import { endsTransaction, isBusy } from './engine-errors.ts'

/**
 * When a write is acknowledged. `flushed`: on disk. `soon`: committed, so it survives a kill, and on disk a moment later. `batched`: the same,
 * and it may wait for others. `passing`: committed; worth nothing after a power cut.
 */
export type Durability = Durable | 'passing'

interface Job {
  readonly durability: Durability
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
  /** Something was taken back: what was remembered of it is wrong. */
  readonly onRollback: () => void
  /** A transaction has begun: from here on nobody else writes. */
  readonly onBegin: (db: SqliteDatabase) => void
  readonly onCommit: () => void
  /** What was acknowledged before it was on disk is there now, or cannot be. */
  readonly onFlushed: () => void
}

export interface WriteQueue {
  /** Runs `job` in a transaction; resolves after the commit, when it is as durable as was asked. @default 'flushed' */
  readonly write: <T>(job: (db: SqliteDatabase) => T, durability?: Durability) => Promise<T>
  /** Resolves when everything that was asked for is written or failed. Rejects when something acknowledged is not on disk. */
  readonly idle: () => Promise<void>
  /** Nothing is being written or waits for it. */
  readonly isIdle: () => boolean
  /** Something acknowledged is not on disk yet. */
  readonly isOwed: () => boolean
  /** Puts on disk whatever was committed, by this connection or another. */
  readonly flushNow: () => void
}

// A transaction holds the lock of the whole file; a bound keeps other processes from waiting for one long batch.
const MAX_BATCH = 64
/** And no request of this process gets its turn meanwhile. */
const SLICE_MS = 10
const FIRST_WAIT_MS = 1
const LONGEST_WAIT_MS = 50
/** `soon` and `batched`. One flush for all that was committed meanwhile. */
const SOON_MS = 50
/**
 * `batched`. As many share a transaction as come within this time after the last one; the first after a pause does not wait. Shorter than
 * any agent takes to ask again: its next request would have to wait for this.
 */
export const GATHER_MS = 4

/**
 * Writes that arrive together share a commit; each keeps its own savepoint, and one that fails takes nothing else along. A flush to
 * disk costs far more than the rows in it: it runs beside the process, and all commits before it share it.
 */
export function writeQueue(open: () => SqliteDatabase, options: WriteQueueOptions): WriteQueue {
  const { lockTimeoutMs, explain, flushed, onRollback, onBegin, onCommit, onFlushed } = options
  const waiting: Job[] = []
  let running: Promise<void> | undefined
  const flushing = new Set<Promise<void>>()
  let soon: NodeJS.Timeout | undefined
  /** Why what was acknowledged before its flush is not on disk yet. */
  let owed: { readonly cause: unknown } | undefined
  let committedAt = -Infinity
  /** Ends the time that others have to join. */
  let hurry: (() => void) | undefined

  /** Who waits until all is written. */
  let idling = 0

  const mayWait = (): boolean =>
    idling === 0 && waiting.length < MAX_BATCH && waiting.every(({ durability }) => durability === 'batched')

  async function gather(): Promise<void> {
    const ms = committedAt + GATHER_MS - performance.now()
    if (ms <= 0 || !mayWait()) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      hurry = resolve
      timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
    hurry = undefined
  }

  async function drain(): Promise<void> {
    // Whatever else this turn of the event loop brings goes into the same transaction.
    await new Promise((resolve) => setImmediate(resolve))
    while (waiting.length > 0) {
      await gather()
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
      // Requests get their turn between two batches.
      if (waiting.length > 0) await new Promise((resolve) => setImmediate(resolve))
    }
    running = undefined
  }

  return {
    write: (run, durability = 'flushed') =>
      new Promise((resolve, reject) => {
        waiting.push({ run, durability, resolve: resolve as (value: unknown) => void, reject })
        running ??= drain()
        if (hurry !== undefined && !mayWait()) hurry()
      }),
    async idle() {
      idling++
      hurry?.()
      await running
      idling--
      if (soon !== undefined || owed !== undefined) flushSoon()
      await Promise.all(flushing)
      if (owed !== undefined) throw explain(owed.cause)
    },
    isIdle: () => running === undefined,
    isOwed: () => soon !== undefined || flushing.size > 0,
    flushNow: flushSoon,
  }

  /** False when another process holds the lock: waiting inside the engine would hold up every request of this one. */
  function attempt(db: SqliteDatabase, batch: Job[], deadline: number): boolean {
    // Hardly a job ever fails: each gets a savepoint of its own only after one did.
    for (const isCareful of [false, true]) {
      try {
        db.run('BEGIN IMMEDIATE')
      } catch (error) {
        if (!isBusy(error) || performance.now() > deadline) throw error
        return false
      }
      const outcomes = runAll(db, batch, isCareful)
      if (outcomes === undefined) continue
      settleAll(outcomes)
      return true
    }
    return true
  }

  /** All in one transaction; undefined when one failed, and nothing of it stands. */
  function runAll(db: SqliteDatabase, batch: Job[], isCareful: boolean): readonly Outcome[] | undefined {
    const outcomes: Outcome[] = []
    const startedAt = performance.now()
    try {
      onBegin(db)
      for (let done = 0; done < batch.length; done++) {
        // What is left goes into the next transaction.
        if (done > 0 && performance.now() - startedAt > SLICE_MS) {
          waiting.unshift(...batch.splice(done))
          break
        }
        const job = batch[done]!
        outcomes.push(isCareful ? runCarefully(db, job) : resolved(job, job.run(db)))
      }
      db.run('COMMIT')
      onCommit()
      committedAt = performance.now()
    } catch (error) {
      rollback(db)
      onRollback()
      if (isCareful || batch.length === 1 || endsTransaction(error)) throw error
      return undefined
    }
    return outcomes
  }

  function runCarefully(db: SqliteDatabase, job: Job): Outcome {
    db.run('SAVEPOINT job')
    let outcome: Outcome
    try {
      outcome = resolved(job, job.run(db))
    } catch (error) {
      if (endsTransaction(error)) throw error
      db.run('ROLLBACK TO job')
      onRollback()
      outcome = { job, error: explain(error) }
    }
    db.run('RELEASE job')
    return outcome
  }

  function settleAll(outcomes: readonly Outcome[]): void {
    const durable: Outcome[] = []
    let isOwed = false
    for (const outcome of outcomes) {
      const { durability } = outcome.job
      if (durability === 'flushed') durable.push(outcome)
      else settle(outcome)
      isOwed ||= durability !== 'passing'
    }
    if (durable.length > 0) return flush(durable)
    if (isOwed) soon ??= setTimeout(flushSoon, SOON_MS)
  }

  function flushSoon(): void {
    flush([])
  }

  /** Takes along everything that was committed before. */
  function flush(durable: readonly Outcome[]): void {
    clearTimeout(soon)
    soon = undefined
    const done = flushed().then(
      () => {
        owed = undefined
        durable.forEach(settle)
      },
      (error: unknown) => {
        owed = { cause: error }
        for (const { job } of durable) job.reject(explain(error))
        // Nobody waits for it; whoever writes next and waits is told the same.
        if (durable.length === 0)
          process.emitWarning(`Plimsoll: a flush of the store failed: ${(error as Error).message}`)
      },
    )
    flushing.add(done)
    void done.finally(() => {
      flushing.delete(done)
      onFlushed()
    })
  }
}

type Outcome = { readonly job: Job; readonly value: unknown } | { readonly job: Job; readonly error: unknown }

const resolved = (job: Job, value: unknown): Outcome => ({ job, value })

function settle(outcome: Outcome): void {
  if ('error' in outcome) outcome.job.reject(outcome.error)
  else outcome.job.resolve(outcome.value)
}

/** The engine may have rolled back already; then there is nothing left to do. */
function rollback(db: SqliteDatabase): void {
  try {
    db.run('ROLLBACK')
  } catch {
    // No transaction is open.
  }
}
