import { createRequire } from 'node:module'
import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads'
import { PlimsollError } from '../../core/errors.ts'
import { packageRoot } from '../../util/package-root.ts'

/** The path of an optional package's file; `unsupported` and how to install it when the package is not there. */
export function optionalPackage(
  specifier: string,
  neededFor: string,
  resolve = createRequire(import.meta.url).resolve,
): string {
  const name = specifier.split('/')[0] ?? specifier
  try {
    return resolve(specifier)
  } catch (error) {
    throw new PlimsollError('unsupported', `${neededFor} needs the optional package ${name}, which is not installed.`, {
      advice: `Install it with: npm install ${name}`,
      fields: { package: name },
      cause: error,
    })
  }
}

/** Whether an optional package is there; nothing of it is loaded. */
export function isInstalled(specifier: string, resolve = createRequire(import.meta.url).resolve): boolean {
  try {
    resolve(specifier)
    return true
  } catch {
    return false
  }
}

/** What a worker is told and answers. Requests run one after the other. */
interface Job<Q, A> {
  readonly request: Q
  readonly timeoutMs: number
  readonly transfer: readonly Transferable[]
  readonly resolve: (answer: A | Stopped) => void
  readonly reject: (error: unknown) => void
}

/** The worker did not answer: it ran out of time, or the thread itself ended. */
export interface Stopped {
  readonly stopped: 'timeout' | 'crash'
  readonly reason: string
}

/** A worker says this once it has loaded what it needs; only then does the first request's time begin. */
export const READY = 'ready'
const START_MS = 30_000

export const isStopped = (answer: unknown): answer is Stopped =>
  typeof answer === 'object' && answer !== null && 'stopped' in answer

export interface AskOptions {
  /** Nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined
  /** Goes over to the thread with the request. */
  readonly transfer?: readonly Transferable[]
}

export interface GuardedWorker<Q, A> {
  /** Resolves with `Stopped` when the worker had to be killed; the next request gets a new one. */
  ask(request: Q, timeoutMs: number, options?: AskOptions): Promise<A | Stopped>
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
  const queue: Job<Q, A>[] = []
  let worker: Worker | undefined
  let ready = false
  let active: Job<Q, A> | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false

  function start(): Worker {
    const started = startWorker(entry, { workerData, resourceLimits, env: {}, stdin: false, argv: [], execArgv: [] })
    started.on('message', (message: A | typeof READY) => {
      if (message === READY) begin(started)
      else finish(started, message)
    })
    started.on('error', (error) =>
      retire(started, { stopped: 'crash', reason: error instanceof Error ? error.message : String(error) }),
    )
    started.on('exit', (code) => retire(started, { stopped: 'crash', reason: `The thread ended with code ${code}.` }))
    setTimer(started, START_MS)
    return started
  }

  function setTimer(on: Worker, timeoutMs: number): void {
    clearTimeout(timer)
    timer = setTimeout(
      () => retire(on, { stopped: 'timeout', reason: `It did not end within ${timeoutMs} ms.` }),
      timeoutMs,
    )
  }

  function begin(on: Worker): void {
    if (on !== worker) return
    ready = true
    if (active === undefined) return
    setTimer(on, active.timeoutMs)
    try {
      on.postMessage(active.request, active.transfer)
    } catch (error) {
      fail(error)
    }
  }

  function fail(error: unknown): void {
    clearTimeout(timer)
    const job = active
    active = undefined
    job?.reject(error)
    next()
  }

  /** A worker that was replaced may still speak; only the current one is heard. */
  function finish(from: Worker, answer: A | Stopped): void {
    if (from !== worker || active === undefined) return
    clearTimeout(timer)
    const { resolve } = active
    active = undefined
    worker.unref()
    resolve(answer)
    next()
  }

  function retire(from: Worker, why: Stopped): void {
    if (from !== worker) return
    worker = undefined
    void from.terminate()
    clearTimeout(timer)
    const job = active
    active = undefined
    job?.resolve(why)
    next()
  }

  function next(): void {
    if (active !== undefined || closed) return
    active = queue.shift()
    if (active === undefined) return
    if (worker === undefined) {
      ready = false
      try {
        worker = start()
      } catch (error) {
        fail(error)
      }
      return
    }
    worker.ref()
    if (ready) begin(worker)
  }

  /** Nobody waits for this one any more: it leaves the queue, or its thread is killed. */
  function abandon(job: Job<Q, A>, reason: unknown): void {
    const waiting = queue.indexOf(job)
    if (waiting >= 0) queue.splice(waiting, 1)
    job.reject(reason)
    if (job === active && worker !== undefined) retire(worker, { stopped: 'crash', reason: 'It was cancelled.' })
  }

  return {
    async ask(request, timeoutMs, { signal, transfer = [] } = {}) {
      if (closed) throw isClosed()
      signal?.throwIfAborted()
      return new Promise((resolve, reject) => {
        const stop = (): void => abandon(job, signal!.reason)
        const ended =
          <T>(settle: (value: T) => void) =>
          (value: T): void => {
            signal?.removeEventListener('abort', stop)
            settle(value)
          }
        const job: Job<Q, A> = { request, timeoutMs, transfer, resolve: ended(resolve), reject: ended(reject) }
        signal?.addEventListener('abort', stop, { once: true })
        queue.push(job)
        next()
      })
    },
    async close() {
      closed = true
      clearTimeout(timer)
      for (const job of [...(active === undefined ? [] : [active]), ...queue.splice(0)]) job.reject(isClosed())
      active = undefined
      const last = worker
      worker = undefined
      await last?.terminate()
    },
  }
}

const isClosed = (): PlimsollError => new PlimsollError('closed', 'The sandbox is closed.')

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
