import { messageOf } from '../../core/values.ts'
import { once, setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads'
import { PlimsollError } from '../../core/errors.ts'
import { withDeadline } from '../../util/deadline.ts'
import { fairQueue, type QueueBounds } from '../../util/fair-queue.ts'
import { packageRoot } from '../../util/package-root.ts'

/** No answer: the time was up, the thread ended, or too many requests were waiting. */
export interface Stopped {
  readonly stopped: 'timeout' | 'crash' | 'busy'
  readonly reason: string
}

/** Sent by a worker when it has loaded its modules; the first request's time limit starts then. */
export const READY = 'ready'
const START_MS = 30_000
/** Time beyond a request's own limit for stopping by itself. */
const GRACE_MS = 2_000

export const isStopped = (answer: unknown): answer is Stopped =>
  typeof answer === 'object' && answer !== null && 'stopped' in answer

export interface GuardedWorker<Q, A> {
  /**
   * Requests of one owner run one after the other, owners in turn. Resolves with `Stopped` when the thread had to be killed; the next request
   * gets a new one.
   */
  ask(
    request: Q,
    timeoutMs: number,
    options?: {
      /** The owner of the request. @default all requests have one owner */
      readonly owner?: string | undefined
      /** Aborted when the caller no longer waits. */
      readonly signal?: AbortSignal | undefined
      /** Transferred to the thread with the request. */
      readonly transfer?: readonly Transferable[]
    },
  ): Promise<A | Stopped>
  close(): Promise<void>
}

/**
 * A thread for work that may never end or may break its engine: it is killed when its time is up, whatever it does, and
 * replaced. It sees no environment variables, and it does not keep the process alive while it waits.
 */
export function guardedWorker<Q, A>(
  entry: URL,
  workerData: unknown,
  resourceLimits: ResourceLimits,
  bounds: QueueBounds = { width: 1 },
): GuardedWorker<Q, A> {
  const inTurn = fairQueue(bounds)
  const closing = new AbortController()
  // Every waiting request adds a listener.
  setMaxListeners(0, closing.signal)
  const threads = new Set<Worker>()
  /** Most recently used first: a second thread is only started when two owners have requests at the same time. */
  const idle: Worker[] = []

  function start(): Worker {
    const started = startWorker(entry, { workerData, resourceLimits, env: {}, stdin: false, argv: [], execArgv: [] })
    started.on('error', () => undefined)
    threads.add(started)
    started.once('exit', () => {
      threads.delete(started)
      if (idle.includes(started)) idle.splice(idle.indexOf(started), 1)
    })
    return started
  }

  /** The next message of the thread; without one in time the thread is killed. */
  async function nextMessage<T>(from: Worker, timeoutMs: number, stop: AbortSignal): Promise<T | Stopped> {
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, stop])
    const late: Stopped = { stopped: 'timeout', reason: `It did not end within ${timeoutMs} ms.` }
    const answer: T | Stopped = await Promise.race([
      once(from, 'message', { signal }).then(([message]) => message as T),
      once(from, 'exit', { signal }).then(([code]) => crashed(`The thread ended with code ${code}.`)),
      setTimeout(timeoutMs, late, { signal }),
    ]).catch((error: unknown) => crashed(messageOf(error)))
    over.abort()
    if (isStopped(answer)) void from.terminate()
    return answer
  }

  async function answerTo(
    request: Q,
    timeoutMs: number,
    transfer: readonly Transferable[],
    stop: AbortSignal,
  ): Promise<A | Stopped> {
    stop.throwIfAborted()
    let thread = idle.pop()
    if (thread === undefined) {
      thread = start()
      const ready = await nextMessage<typeof READY>(thread, START_MS, stop)
      if (isStopped(ready)) return ready
    }
    thread.ref()
    thread.postMessage(request, transfer)
    const answer = await nextMessage<A>(thread, timeoutMs, stop)
    thread.unref()
    if (!isStopped(answer)) idle.push(thread)
    return answer
  }

  return {
    async ask(request, timeoutMs, { owner = '', signal, transfer = [] } = {}) {
      const stop = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal])
      return withDeadline(
        inTurn<A | Stopped>(
          owner,
          () => answerTo(request, timeoutMs, transfer, stop),
          (reason) => ({ stopped: 'busy', reason }),
        ),
        stop,
      )
    },
    async close() {
      closing.abort(new PlimsollError('closed', 'The sandbox is closed.'))
      await Promise.all([...threads].map((thread) => thread.terminate()))
    },
  }
}

const crashed = (reason: string): Stopped => ({ stopped: 'crash', reason })

/** Two threads, so that one tenant's endless query does not block all other tenants. */
export const FAIR_BOUNDS: QueueBounds = { width: 2, most: 32, waitMs: 30_000 }

interface Asked {
  readonly timeoutMs: number
  readonly owner?: string | undefined
  readonly signal?: AbortSignal | undefined
}

/** The common part of the sandbox and the SQL engine: threads that are started with the first request. */
export function lazyWorker<Q extends Asked, A>(
  what: 'code' | 'query',
  inputBytesPerMs: number,
  start: () => GuardedWorker<Omit<Q, 'signal' | 'owner'>, A>,
) {
  let worker: GuardedWorker<Omit<Q, 'signal' | 'owner'>, A> | undefined
  return {
    /** The answer, or the reason why there is none. */
    async ask({ signal, owner, ...request }: Q, inputs: readonly Uint8Array[]): Promise<A | string> {
      worker ??= start()
      const inputBytes = inputs.reduce((sum, bytes) => sum + bytes.length, 0)
      const timeoutMs = request.timeoutMs + GRACE_MS + inputBytes / inputBytesPerMs
      const answer = await worker.ask(request, timeoutMs, { owner, signal })
      if (!isStopped(answer)) return answer
      if (answer.stopped === 'busy') return `The ${what} did not run: ${answer.reason}. Try again later.`
      return answer.stopped === 'timeout'
        ? `The ${what} ran longer than ${request.timeoutMs} ms and was stopped.`
        : `The ${what} broke its engine and was stopped: ${answer.reason}`
    },
    close: async (): Promise<void> => worker?.close(),
  }
}

type WorkerOptions = ConstructorParameters<typeof Worker>[1]

/** Built code runs as it is. From source, as in tests, the thread first needs a loader for TypeScript. */
function startWorker(entry: URL, options: WorkerOptions): Worker {
  if (!entry.pathname.endsWith('.ts')) return new Worker(entry, options)
  const bootstrap = `import('tsx/esm/api').then(({ register }) => { register(); return import(${JSON.stringify(entry.href)}) })`
  return new Worker(bootstrap, { ...options, eval: true })
}

/** The file of a worker: beside the module from source; in the package at its own place, since the build joins modules into other files. */
export const workerBeside = (moduleUrl: string, name: string, folder = 'drivers/sandbox'): URL =>
  moduleUrl.endsWith('.ts') ? new URL(`./${name}.ts`, moduleUrl) : new URL(`dist/${folder}/${name}.js`, packageRoot())
