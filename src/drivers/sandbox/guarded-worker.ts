import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads'
import { PlimsollError } from '../../core/errors.ts'
import { withDeadline } from '../../util/deadline.ts'
import { mutex } from '../../util/mutex.ts'
import { packageRoot } from '../../util/package-root.ts'

/** The worker did not answer: it ran out of time, or the thread itself ended. */
export interface Stopped {
  readonly stopped: 'timeout' | 'crash'
  readonly reason: string
}

/** A worker says this once it has loaded what it needs; only then does the first request's time begin. */
export const READY = 'ready'
const START_MS = 30_000
/** Time beyond a request's own limit for stopping by itself. */
const GRACE_MS = 2_000

export const isStopped = (answer: unknown): answer is Stopped =>
  typeof answer === 'object' && answer !== null && 'stopped' in answer

export interface GuardedWorker<Q, A> {
  /** Requests run one after the other. Resolves with `Stopped` when the worker had to be killed; the next request gets a new one. */
  ask(
    request: Q,
    timeoutMs: number,
    options?: {
      /** The caller does not wait for the answer any more. */
      readonly signal?: AbortSignal | undefined
      /** Goes over to the thread with the request. */
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
): GuardedWorker<Q, A> {
  const inTurn = mutex()
  const closing = new AbortController()
  let worker: Worker | undefined

  function start(): Worker {
    const started = startWorker(entry, { workerData, resourceLimits, env: {}, stdin: false, argv: [], execArgv: [] })
    started.on('error', () => undefined)
    started.once('exit', () => {
      if (worker === started) worker = undefined
    })
    return started
  }

  /** The next message of the thread; without one in time the thread is killed. */
  async function messageOf<T>(from: Worker, timeoutMs: number, stop: AbortSignal): Promise<T | Stopped> {
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, stop])
    const late: Stopped = { stopped: 'timeout', reason: `It did not end within ${timeoutMs} ms.` }
    const answer: T | Stopped = await Promise.race([
      once(from, 'message', { signal }).then(([message]) => message as T),
      once(from, 'exit', { signal }).then(([code]) => crashed(`The thread ended with code ${code}.`)),
      setTimeout(timeoutMs, late, { signal }),
    ]).catch((error: unknown) => crashed(error instanceof Error ? error.message : String(error)))
    over.abort()
    if (isStopped(answer)) {
      worker = undefined
      void from.terminate()
    }
    return answer
  }

  async function answerTo(
    request: Q,
    timeoutMs: number,
    transfer: readonly Transferable[],
    stop: AbortSignal,
  ): Promise<A | Stopped> {
    stop.throwIfAborted()
    if (worker === undefined) {
      worker = start()
      const ready = await messageOf<typeof READY>(worker, START_MS, stop)
      if (isStopped(ready)) return ready
    }
    worker.ref()
    worker.postMessage(request, transfer)
    const answer = await messageOf<A>(worker, timeoutMs, stop)
    worker?.unref()
    return answer
  }

  return {
    async ask(request, timeoutMs, { signal, transfer = [] } = {}) {
      const stop = signal === undefined ? closing.signal : AbortSignal.any([closing.signal, signal])
      return withDeadline(
        inTurn(() => answerTo(request, timeoutMs, transfer, stop)),
        stop,
      )
    },
    async close() {
      closing.abort(new PlimsollError('closed', 'The sandbox is closed.'))
      await worker?.terminate()
    },
  }
}

const crashed = (reason: string): Stopped => ({ stopped: 'crash', reason })

/** What a sandbox and an SQL engine have in common: a thread that is started with the first request. */
export function lazyWorker<Q extends { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined }, A>(
  what: 'code' | 'query',
  inputBytesPerMs: number,
  start: () => GuardedWorker<Omit<Q, 'signal'>, A>,
) {
  let worker: GuardedWorker<Omit<Q, 'signal'>, A> | undefined
  return {
    /** The answer, or in words why there is none. */
    async ask({ signal, ...request }: Q, inputs: readonly Uint8Array[]): Promise<A | string> {
      worker ??= start()
      const inputBytes = inputs.reduce((sum, bytes) => sum + bytes.length, 0)
      const timeoutMs = request.timeoutMs + GRACE_MS + inputBytes / inputBytesPerMs
      const answer = await worker.ask(request, timeoutMs, { signal })
      if (!isStopped(answer)) return answer
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
