import type { SqlEngine, SqlRequest, SqlResult } from '../../ports/sql-engine.ts'
import { optionalPackage } from '../optional-package.ts'
import { guardedWorker, lazyWorker, workerBeside } from './guarded-worker.ts'
import type { SqljsWorkerData } from './sqljs-worker.ts'

/** Records load at 2 MB/s. */
const INPUT_BYTES_PER_MS = 2_000
/** JSON of 100 MB takes several times its size once it is parsed. */
const LIMITS = { maxOldGenerationSizeMb: 3072 }

export interface SqljsOptions {
  /** Heap of the engine beside the records themselves: sorting, grouping, the result. @default 256 MiB */
  readonly memoryBytes?: number
}

/**
 * Answers SQL with SQLite compiled to WebAssembly, in a thread of its own: it has no file system but its own memory, no
 * extensions, a heap limit that a query cannot raise, and it is killed when its time is up.
 */
export function sqljsEngine({ memoryBytes = 256 * 2 ** 20 }: SqljsOptions = {}): SqlEngine {
  const worker = lazyWorker<SqlRequest, SqlResult>('query', INPUT_BYTES_PER_MS, () => {
    const workerData: SqljsWorkerData = { memoryBytes, modulePath: optionalPackage('sql.js', 'Querying artifacts') }
    return guardedWorker(workerBeside(import.meta.url, 'sqljs-worker'), workerData, LIMITS)
  })
  return {
    name: 'sql.js',
    async query(request) {
      const sources = request.sources.map(({ bytes }) => bytes)
      const answer = await worker.ask(request, sources)
      return typeof answer === 'string'
        ? { ok: false, columns: [], rows: [], totalRows: 0, tables: [], error: answer }
        : answer
    },
    close: worker.close,
  }
}
