import { pathToFileURL } from 'node:url'
import type { Sandbox, SandboxRequest, SandboxResult } from '../../ports/sandbox.ts'
import { guardedWorker, type GuardedWorker, isStopped, optionalPackage, workerBeside } from './guarded-worker.ts'
import type { QuickjsWorkerData } from './quickjs-worker.ts'

/** Time beyond the guest's own limit for stopping by itself, and for passing the inputs in at 20 MB/s. */
const GRACE_MS = 2_000
const INPUT_BYTES_PER_MS = 20_000
/** The thread holds the inputs as strings on their way in. */
const THREAD_HEAP_MB = 1024
const THREAD_STACK_MB = 32

/**
 * Runs JavaScript in QuickJS compiled to WebAssembly, in a thread of its own. The guest lives in the engine's linear memory
 * and gets strings and numbers, no host object and no host function; each run has a fresh engine.
 */
export function quickjsSandbox(): Sandbox {
  let worker: GuardedWorker<SandboxRequest, SandboxResult> | undefined
  return {
    name: 'quickjs',
    async run({ signal, ...request }) {
      worker ??= start()
      const inputBytes = Object.values(request.inputs).reduce((sum, bytes) => sum + bytes.length, 0)
      const answer = await worker.ask(request, request.timeoutMs + GRACE_MS + inputBytes / INPUT_BYTES_PER_MS, {
        signal,
      })
      if (!isStopped(answer)) return answer
      const error =
        answer.stopped === 'timeout'
          ? `The code ran longer than ${request.timeoutMs} ms and was stopped.`
          : `The code broke its sandbox and was stopped: ${answer.reason}`
      return { ok: false, output: '', error, truncated: false }
    },
    async close() {
      await worker?.close()
    },
  }
}

function start(): GuardedWorker<SandboxRequest, SandboxResult> {
  const workerData: QuickjsWorkerData = {
    moduleUrl: pathToFileURL(optionalPackage('quickjs-wasi', 'Running code over artifacts')).href,
    wasmPath: optionalPackage('quickjs-wasi/quickjs.wasm', 'Running code over artifacts'),
  }
  return guardedWorker(workerBeside(import.meta.url, 'quickjs-worker'), workerData, {
    maxOldGenerationSizeMb: THREAD_HEAP_MB,
    stackSizeMb: THREAD_STACK_MB,
  })
}
