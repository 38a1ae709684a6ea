import { pathToFileURL } from 'node:url'
import type { Sandbox, SandboxRequest, SandboxResult } from '../../ports/sandbox.ts'
import { optionalPackage } from '../optional-package.ts'
import { guardedWorker, lazyWorker, workerBeside } from './guarded-worker.ts'
import type { QuickjsWorkerData } from './quickjs-worker.ts'

/** Inputs pass into the guest at 20 MB/s. */
const INPUT_BYTES_PER_MS = 20_000
/** The thread holds the inputs as strings on their way in. */
const LIMITS = { maxOldGenerationSizeMb: 1024, stackSizeMb: 32 }

/**
 * Runs JavaScript in QuickJS compiled to WebAssembly, in a thread of its own. The guest lives in the engine's linear memory
 * and gets strings and numbers, no host object and no host function; each run has a fresh engine.
 */
export function quickjsSandbox(): Sandbox {
  const worker = lazyWorker<SandboxRequest, SandboxResult>('code', INPUT_BYTES_PER_MS, () => {
    const workerData: QuickjsWorkerData = {
      moduleUrl: pathToFileURL(optionalPackage('quickjs-wasi', 'Running code over artifacts')).href,
      wasmPath: optionalPackage('quickjs-wasi/quickjs.wasm', 'Running code over artifacts'),
    }
    return guardedWorker(workerBeside(import.meta.url, 'quickjs-worker'), workerData, LIMITS)
  })
  return {
    name: 'quickjs',
    async run(request) {
      const answer = await worker.ask(request, Object.values(request.inputs))
      return typeof answer === 'string' ? { ok: false, output: '', error: answer, truncated: false } : answer
    },
    close: worker.close,
  }
}
