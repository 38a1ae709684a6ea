import { randomUUID } from 'node:crypto'
import { PlimsollError } from '../../../../core/errors.ts'
import { startWorker, workerBeside } from '../../../sandbox/guarded-worker.ts'
import type { Context } from '../context.ts'
import type { SqliteDatabase } from '../database.ts'
import type { ArgsOf, JobName, ResultOf } from '../jobs.ts'
import { othersThan } from '../last-writer.ts'
import type { Durability } from '../write-queue.ts'
import type { Writer } from '../writer.ts'
import { learn } from './learn.ts'
import { errorOf, type Call, type Calls, type OtherCall, type Reply, type ThreadStart } from './messages.ts'

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

/** Has a thread of its own do the writing. It keeps the process alive for as long as somebody waits for it. */
export function threadWriter({ path, lockTimeoutMs, context, onEnd }: ThreadWriterOptions): ThreadWriter {
  const name = randomUUID()
  const shared = new SharedArrayBuffer(4)
  const commits = new Int32Array(shared)
  const workerData: ThreadStart = { path, lockTimeoutMs, name, commitsOfOthers: shared }
  const entry = workerBeside(import.meta.url, 'store-worker', 'drivers/sessions/sqlite/thread')
  const worker = startWorker(entry, { workerData, env: {}, stdin: false, argv: [], execArgv: [] })
  worker.unref()

  const pending = new Map<number, Pending>()
  let calls: Call[] = []
  let last = 0
  let ready = false
  let ended = false

  function ask<T>(make: (id: number) => Call, isUrgent: boolean): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (ended) return reject(gone(path))
      const id = ++last
      if (pending.size === 0) worker.ref()
      pending.set(id, { resolve: resolve as (value: unknown) => void, reject })
      // One message for all that a turn of the event loop brings; who is waited for does not wait for that.
      if (calls.push(make(id)) === 1 && !isUrgent) setImmediate(post)
      if (isUrgent) post()
    })
  }

  function post(): void {
    if (calls.length === 0 || ended) return
    const message: Calls = { now: context.clock.now(), calls }
    calls = []
    try {
      worker.postMessage(message, [])
    } catch (error) {
      for (const { id } of message.calls) settle(id, ({ reject }) => reject(error))
    }
  }

  function settle(id: number, how: (pending: Pending) => void): void {
    const waiting = pending.get(id)
    pending.delete(id)
    if (pending.size === 0) worker.unref()
    if (waiting !== undefined) how(waiting)
  }

  function hear(reply: Reply): void {
    if ('ready' in reply) ready = true
    else if ('damage' in reply) context.onDamage(reply.damage)
    else if ('failed' in reply) settle(reply.id, ({ reject }) => reject(errorOf(reply.failed)))
    else settle(reply.id, ({ resolve }) => resolve(reply.value))
  }

  function end(cause: unknown): void {
    if (ended) return
    ended = true
    for (const id of pending.keys()) settle(id, ({ reject }) => reject(gone(path, cause)))
    onEnd()
  }

  worker.on('message', (replies: readonly Reply[]) => replies.forEach(hear))
  worker.on('error', end)
  worker.on('exit', end)

  const order = (what: OtherCall['do']): Promise<void> => ask((id) => ({ id, do: what }), true)

  return {
    isReady: () => ready,
    othersVersion: othersThan(name, () => Atomics.load(commits, 0)),
    run<K extends JobName>(job: K, args: ArgsOf<K>, durability?: Durability) {
      const asked = ask<ResultOf<K>>((id) => ({ id, job, args, durability }) as Call, durability !== 'batched')
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
