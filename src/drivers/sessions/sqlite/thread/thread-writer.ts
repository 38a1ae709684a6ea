import { randomUUID } from 'node:crypto'
import { PlimsollError } from '../../../../core/errors.ts'
import { systemClock } from '../../../../ports/clock.ts'
import type { StoreProblem } from '../../../../ports/store-maintenance.ts'
import { startWorker, workerBeside } from '../../../sandbox/guarded-worker.ts'
import type { Context } from '../context.ts'
import type { SqliteDatabase } from '../database.ts'
import type { ArgsOf, JobName, ResultOf } from '../jobs.ts'
import { othersThan } from '../last-writer.ts'
import { GATHER_MS, type Durability } from '../write-queue.ts'
import type { Writer } from '../writer.ts'
import { learn } from './learn.ts'
import {
  errorOf,
  OF_OTHERS,
  OWN,
  type Call,
  type Calls,
  type Order,
  type Replies,
  type Reply,
  type ThreadStart,
} from './messages.ts'

export interface ThreadWriter extends Writer {
  isReady(): boolean
  /** Another value as soon as somebody else than this thread has committed. */
  othersVersion(db: SqliteDatabase): string
}

export interface ThreadWriterOptions {
  readonly path: string
  readonly lockTimeoutMs: number
  readonly context: Context
  /** The thread has answered, and whoever waited for it was told. */
  readonly onAnswer: () => void
  /** The thread ended by itself, and whoever waited for it was told. */
  readonly onEnd: () => void
}

interface Asked<T> {
  /** It may share a message with others. */
  readonly mayWait?: boolean
  /** Told before whoever waits for it. */
  readonly onValue?: (value: T) => void
}

interface Pending {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** What the thread makes of a message is gone with its commit: a large young generation would only be memory. */
const LIMITS = { maxYoungGenerationSizeMb: 4 }

/** Has a thread of its own do the writing. It keeps the process alive for as long as somebody waits for it. */
export function threadWriter({ path, lockTimeoutMs, context, onAnswer, onEnd }: ThreadWriterOptions): ThreadWriter {
  const name = randomUUID()
  const counts = new Int32Array(new SharedArrayBuffer(8))
  const others = othersThan(name, {
    commitsOfOthers: () => Atomics.load(counts, OF_OTHERS),
    commits: () => Atomics.load(counts, OWN),
  })
  const hasOwnClock = context.clock !== systemClock
  const workerData: ThreadStart = { path, lockTimeoutMs, name, counts: counts.buffer, hasOwnClock }
  const entry = workerBeside(import.meta.url, 'store-worker', 'drivers/sessions/sqlite/thread')
  const worker = startWorker(entry, {
    workerData,
    resourceLimits: LIMITS,
    env: {},
    stdin: false,
    argv: [],
    execArgv: [],
  })
  const pending = new Map<number, Pending>()
  let calls: Call[] = []
  let last = 0
  /** Set while calls wait for others. */
  let stopGathering: (() => void) | undefined
  let postedAt = -Infinity
  /** The last call that the thread was told of. */
  let posted = 0
  let ready = false
  let ended = false
  /** The thread has acknowledged something that is not on disk yet. */
  let isOwed = false
  /** What the thread knew of others when it answered what is being heard. */
  let asOf = ''

  function ask<T>(make: (id: number) => Call, { mayWait = false, onValue }: Asked<T> = {}): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (ended) return reject(gone(path, 'not written'))
      const id = ++last
      worker.ref()
      pending.set(id, {
        resolve(value) {
          onValue?.(value as T)
          resolve(value as T)
        },
        reject,
      })
      calls.push(make(id))
      if (!mayWait) post()
      else if (stopGathering === undefined) gather()
    })
  }

  /** A message wakes the thread, which costs about as much as what is in it. The first after a pause does not wait for others. */
  function gather(): void {
    const ms = postedAt + GATHER_MS - performance.now()
    if (ms > 0) {
      const timer = setTimeout(post, ms)
      stopGathering = () => clearTimeout(timer)
    } else {
      const turn = setImmediate(post)
      stopGathering = () => clearImmediate(turn)
    }
  }

  function post(): void {
    stopGathering?.()
    stopGathering = undefined
    if (calls.length === 0 || ended) return
    postedAt = performance.now()
    const message: Calls = { now: context.clock.now(), calls }
    calls = []
    try {
      worker.postMessage(message, message.calls.flatMap(movedWith))
    } catch {
      for (const call of message.calls) postAlone(message.now, call)
    }
    posted = last
  }

  /** One of several cannot be copied: the others are not to blame. */
  function postAlone(now: number, call: Call): void {
    try {
      worker.postMessage({ now, calls: [call] } satisfies Calls, movedWith(call))
    } catch (error) {
      settle(call[0], ({ reject }) => reject(error))
      mayEnd()
    }
  }

  /** The process may end when nobody waits for the thread, and what it has acknowledged is on disk. */
  function mayEnd(): void {
    if (pending.size === 0 && !isOwed) worker.unref()
  }

  function settle(id: number, how: (pending: Pending) => void): void {
    const waiting = pending.get(id)
    pending.delete(id)
    if (waiting !== undefined) how(waiting)
  }

  function hear(reply: Reply): void {
    if (reply === 'ready') ready = true
    else if (!isAnswer(reply)) tellDamage(reply)
    else {
      const [id, value, failure] = reply
      if (failure === undefined) settle(id, ({ resolve }) => resolve(value))
      else {
        // Often because what is held here is out of date.
        context.cache.clear()
        settle(id, ({ reject }) => reject(errorOf(failure)))
      }
    }
  }

  function tellDamage(problem: StoreProblem): void {
    try {
      context.onDamage(problem)
    } catch (error) {
      process.emitWarning(`Plimsoll: who is told of damage in a store failed: ${(error as Error).message}`)
    }
  }

  function end(cause: unknown): void {
    if (ended) return
    ended = true
    for (const id of pending.keys()) {
      settle(id, ({ reject }) => reject(gone(path, id > posted ? 'not written' : 'unknown', cause)))
    }
    onEnd()
  }

  worker.on('message', (message: Replies) => {
    // What was asked for under a lease, or after a conflict, is looked up anew.
    context.cache.recheck()
    isOwed = message.isOwed
    asOf = others.asOf(message.commitsOfOthers)
    message.replies.forEach(hear)
    mayEnd()
    if (message.replies.length > 0) setImmediate(onAnswer)
  })
  // Earlier it has no effect.
  worker.once('online', mayEnd)
  worker.on('error', end)
  worker.on('exit', end)

  const order = (what: Order): Promise<void> => ask((id) => [id, what])

  return {
    isReady: () => ready,
    othersVersion: (db) => others.version(db),
    run<K extends JobName>(job: K, args: ArgsOf<K>, durability?: Durability) {
      // What may wait has waited here.
      const isBatched = durability === 'batched'
      // A commit that waited for the disk is an old one by now.
      const isNews = isBatched || durability === 'soon' || durability === 'passing'
      return ask<ResultOf<K>>((id) => [id, job, isBatched ? 'soon' : durability, args], {
        mayWait: isBatched,
        onValue: (result) => learn(context, job, args, result, isNews && context.cache.isAsOf(asOf)),
      })
    },
    indexWords: () => order('index-words'),
    forgetLog: () => order('forget-log'),
    async close() {
      const isAlone = pending.size === 0
      try {
        if (!ended) await order('close')
      } catch (error) {
        // One that ended by itself has nothing left to close.
        if (!ended || !isAlone) throw error
      } finally {
        ended = true
        await worker.terminate()
      }
    },
  }
}

/** What leaves this thread with a call. */
function movedWith([, job, , args]: Call): ArrayBuffer[] {
  const bytes = job === 'append' ? (args as ArgsOf<'append'>)[2].bytes : undefined
  return bytes === undefined ? [] : [bytes.buffer]
}

type Outcome = 'unknown' | 'not written'

const gone = (path: string, outcome: Outcome, cause?: unknown): PlimsollError =>
  new PlimsollError('store-unavailable', `The thread that writes the store ${path} has ended.`, {
    advice:
      outcome === 'unknown'
        ? 'What it was asked to write may be there: read before you write it again.'
        : 'Try again: the next write is made without it.',
    fields: { path, reason: 'thread', outcome },
    retryable: outcome === 'not written',
    cause,
  })

const isAnswer = (reply: Exclude<Reply, 'ready'>): reply is Extract<Reply, readonly unknown[]> => Array.isArray(reply)
