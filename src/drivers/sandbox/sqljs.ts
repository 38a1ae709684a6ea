import type { SqlEngine, SqlRequest, SqlResult } from '../../ports/sql-engine.ts'
import { guardedWorker, type GuardedWorker, isStopped, optionalPackage, workerBeside } from './guarded-worker.ts'
import type { SqljsWorkerData } from './sqljs-worker.ts'

/** Time beyond the query's own limit for loading the records, at 2 MB/s. */
const GRACE_MS = 2_000
const INPUT_BYTES_PER_MS = 2_000
/** JSON of 100 MB takes several times its size once it is parsed. */
const THREAD_HEAP_MB = 3072

export interface SqljsOptions {
  /** Heap of the engine beside the records themselves: sorting, grouping, the result. @default 256 MiB */
  readonly memoryBytes?: number
}

/**
 * Answers SQL with SQLite compiled to WebAssembly, in a thread of its own: it has no file system but its own memory, no
 * extensions, a heap limit that a query cannot raise, and it is killed when its time is up.
 */
export function sqljsEngine(options: SqljsOptions = {}): SqlEngine {
  const { memoryBytes = 256 * 2 ** 20 } = options
  let worker: GuardedWorker<SqlRequest, SqlResult> | undefined
  return {
    name: 'sql.js',
    async query({ signal, ...request }) {
      worker ??= start(memoryBytes)
      const inputBytes = request.sources.reduce((sum, { bytes }) => sum + bytes.length, 0)
      const answer = await worker.ask(request, request.timeoutMs + GRACE_MS + inputBytes / INPUT_BYTES_PER_MS, {
        signal,
      })
      if (!isStopped(answer)) return answer
      const error =
        answer.stopped === 'timeout'
          ? `The query ran longer than ${request.timeoutMs} ms and was stopped.`
          : `The query broke its engine and was stopped: ${answer.reason}`
      return { ok: false, columns: [], rows: [], totalRows: 0, tables: [], error }
    },
    async close() {
      await worker?.close()
    },
  }
}

function start(memoryBytes: number): GuardedWorker<SqlRequest, SqlResult> {
  const workerData: SqljsWorkerData = { memoryBytes, modulePath: optionalPackage('sql.js', 'Querying artifacts') }
  return guardedWorker(workerBeside(import.meta.url, 'sqljs-worker'), workerData, {
    maxOldGenerationSizeMb: THREAD_HEAP_MB,
  })
}
