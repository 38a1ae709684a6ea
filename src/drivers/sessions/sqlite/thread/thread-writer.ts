import { randomUUID } from 'node:crypto'
import { PlimsollError } from '../../../../core/errors.ts'
import { startWorker, workerBeside } from '../../../sandbox/guarded-worker.ts'
import type { Context } from '../context.ts'
import type { SqliteDatabase } from '../database.ts'
import type { ArgsOf, JobName, ResultOf } from '../jobs.ts'
import { othersThan } from '../last-writer.ts'
import { GATHER_MS, type Durability } from '../write-queue.ts'
import type { Writer } from '../writer.ts'
import { learn } from './learn.ts'
import { errorOf, type Call, type Calls, type Order, type Reply, type ThreadStart } from './messages.ts'

export interface ThreadWriter extends Writer {
  isReady(): boolean
  /** Another value as soon as somebody else than this thread has committed. */
  othersVersion(db: SqliteDatabase): string
}

export interface ThreadWriterOptions {
  readonly path: string
  readonly lockTimeoutMs: number
  readonly context: Context
  /** The thread ended by itself, and whoever waited for it was told. */
  readonly onEnd: () => void
}

interface Pending {
  resolve(value: unknown): void
  reject(error: unknown): void
}

/** What the thread makes of a message is gone with its commit: a large young generation would only be memory. */
const LIMITS = { maxYoungGenerationSizeMb: 4 }

/** Has a thread of its own do the writing. It keeps the process alive for as long as somebody waits for it. */
export function threadWriter({ path, lockTimeoutMs, context, onEnd }: ThreadWriterOptions): ThreadWriter {
  const name = randomUUID()
  const shared = new SharedArrayBuffer(4)
  const commits = new Int32Array(shared)
  const workerData: ThreadStart = { path, lockTimeoutMs, name, commitsOfOthers: shared }
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
  let ready = false
  let ended = false

  function ask<T>(make: (id: number) => Call, mayWait = false): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (ended) return reject(gone(path))
      const id = ++last
      if (pending.size === 0) worker.ref()
      pending.set(id, { resolve: resolve as (value: unknown) => void, reject })
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
      worker.postMessage(message, [])
    } catch (error) {
      for (const [id] of message.calls) settle(id, ({ reject }) => reject(error))
    }
  }

  function settle(id: number, how: (pending: Pending) => void): void {
    const waiting = pending.get(id)
    pending.delete(id)
    if (pending.size === 0) worker.unref()
    if (waiting !== undefined) how(waiting)
  }

  function hear(reply: Reply): void {
    if (reply === 'ready') ready = true
    else if (!isAnswer(reply)) context.onDamage(reply)
    else {
      const [id, value, failure] = reply
      if (failure === undefined) settle(id, ({ resolve }) => resolve(value))
      else settle(id, ({ reject }) => reject(errorOf(failure)))
    }
  }

  function end(cause: unknown): void {
    if (ended) return
    ended = true
    for (const id of pending.keys()) settle(id, ({ reject }) => reject(gone(path, cause)))
    onEnd()
  }

  worker.on('message', (replies: readonly Reply[]) => replies.forEach(hear))
  // Earlier it has no effect.
  worker.once('online', () => {
    if (pending.size === 0) worker.unref()
  })
  worker.on('error', end)
  worker.on('exit', end)

  const order = (what: Order): Promise<void> => ask((id) => [id, what])

  return {
    isReady: () => ready,
    othersVersion: othersThan(name, () => Atomics.load(commits, 0)),
    run<K extends JobName>(job: K, args: ArgsOf<K>, durability?: Durability) {
      // What may wait has waited here.
      const isBatched = durability === 'batched'
      const asked = ask<ResultOf<K>>((id) => [id, job, isBatched ? 'soon' : durability, args], isBatched)
      return asked.then((result) => {
        learn(context, job, args, result)
        return result
      })
    },
    indexWords: () => order('index-words'),
    forgetLog: () => order('forget-log'),
    async close() {
      try {
        if (!ended) await order('close')
      } finally {
        ended = true
        await worker.terminate()
      }
    },
  }
}

const gone = (path: string, cause?: unknown): PlimsollError =>
  new PlimsollError('store-unavailable', `The thread that writes the store ${path} has ended.`, {
    advice: 'Try again: the next write is made without it.',
    fields: { path, reason: 'thread' },
    retryable: true,
    cause,
  })

const isAnswer = (reply: Exclude<Reply, 'ready'>): reply is Extract<Reply, readonly unknown[]> => Array.isArray(reply)
