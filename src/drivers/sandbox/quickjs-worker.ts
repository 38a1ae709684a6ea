import { readFile } from 'node:fs/promises'
import { parentPort, workerData } from 'node:worker_threads'
import type { JSValueHandle, QuickJS } from 'quickjs-wasi'
import type { SandboxRequest, SandboxResult } from '../../ports/sandbox.ts'
import { READY } from './guarded-worker.ts'
import { GUEST_PRELUDE } from './quickjs-guest.ts'

/** Where the engine's module and its wasm lie, found by the parent. */
export interface QuickjsWorkerData {
  readonly moduleUrl: string
  readonly wasmPath: string
}

/** The guest's clock stands still and its random numbers start from it: the same code gives the same answer. */
const GUEST_TIME_NS = BigInt(Date.UTC(2000, 0, 1)) * 1_000_000n
/** Of wasm stack; the thread has far more, so that the engine notices before the thread overflows. */
const GUEST_STACK_BYTES = 256 * 1024

const { moduleUrl, wasmPath } = workerData as QuickjsWorkerData
const engine = Promise.all([
  import(moduleUrl) as Promise<typeof import('quickjs-wasi')>,
  readFile(wasmPath).then(async (bytes) => WebAssembly.compile(bytes)),
])

async function run(request: SandboxRequest): Promise<SandboxResult> {
  const [{ QuickJS, EvalFlags }, wasm] = await engine
  const deadline = performance.now() + request.timeoutMs
  const late = (): boolean => performance.now() > deadline
  const vm = await QuickJS.create({
    wasm,
    memoryLimit: request.memoryBytes,
    maxStackSize: GUEST_STACK_BYTES,
    interruptHandler: late,
    timezoneOffset: 0,
    wasi: quietWasi,
  })
  try {
    const guest = prepare(vm, request)
    const promise = evaluate(vm, request.code, EvalFlags.ASYNC)
    vm.callFunction(guest.settle, vm.undefined, promise.handle, promise.unwrap ? vm.true : vm.false)
    vm.executePendingJobs()
    const state = vm.callFunction(guest.state, vm.undefined).toNumber()
    if (late()) return failed(overtime(request), readText(vm, guest.output, request))
    const output = readText(vm, guest.output, request)
    if (state === 1) return { ok: true, ...output }
    const error =
      state === 2 ? readText(vm, guest.error, request).output : 'The code waits for a promise that nothing will settle.'
    return failed(asLimit(error, request), output)
  } catch (error) {
    return failed(late() ? overtime(request) : asLimit(messageOf(error), request))
  }
  // The instance is dropped, not disposed: after a trap its own clean-up could fail, and nothing outlives it anyway.
}

interface Guest {
  readonly settle: JSValueHandle
  readonly state: JSValueHandle
  readonly output: JSValueHandle
  readonly error: JSValueHandle
}

/** Puts the inputs into the guest as plain values. No host function is ever among them. */
function prepare(vm: QuickJS, { inputs, maxOutputBytes }: SandboxRequest): Guest {
  const entries = vm.newArray()
  for (const [index, [name, bytes]] of Object.entries(inputs).entries()) {
    const entry = vm.newArray()
    entry.setProp('0', vm.newString(name))
    entry.setProp('1', valueOf(vm, bytes))
    entries.setProp(String(index), entry)
  }
  const prelude = vm.evalCode(`(function (entries, maxCharacters) {${GUEST_PRELUDE}})`, '<prelude>')
  const parts = vm.callFunction(prelude, vm.undefined, entries, vm.newNumber(maxOutputBytes))
  const part = (index: number): JSValueHandle => parts.getProp(String(index))
  return { settle: part(0), state: part(1), output: part(2), error: part(3) }
}

function valueOf(vm: QuickJS, bytes: Uint8Array): JSValueHandle {
  try {
    return vm.newString(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (error) {
    if (error instanceof TypeError) return vm.newUint8Array(bytes)
    throw error
  }
}

/** A script gives the value of its last statement; one with a top-level `return` is taken as the body of a function. */
function evaluate(vm: QuickJS, code: string, flags: number): { handle: JSValueHandle; unwrap: boolean } {
  try {
    return { handle: vm.evalCode(code, '<code>', flags), unwrap: true }
  } catch (error) {
    if (!messageOf(error).includes('return not in a function')) throw error
    return { handle: vm.evalCode(`(async () => {${code}\n})()`, '<code>'), unwrap: false }
  }
}

function readText(
  vm: QuickJS,
  read: JSValueHandle,
  { maxOutputBytes }: SandboxRequest,
): { output: string; truncated: boolean } {
  const text = vm.callFunction(read, vm.undefined).toString()
  const bytes = Buffer.from(text, 'utf8')
  if (bytes.length <= maxOutputBytes) return { output: text, truncated: false }
  // Cut to whole characters: the decoder drops a split one at the end of a stream that goes on.
  return { output: new TextDecoder().decode(bytes.subarray(0, maxOutputBytes), { stream: true }), truncated: true }
}

const failed = (error: string, output = { output: '', truncated: false }): SandboxResult => ({
  ok: false,
  ...output,
  error,
})

const overtime = ({ timeoutMs }: SandboxRequest): string => `The code ran longer than ${timeoutMs} ms and was stopped.`

/** The engine's words for its limits, in ours. */
function asLimit(message: string, { memoryBytes }: SandboxRequest): string {
  if (/out of memory|memory access out of bounds|allocation failed|unreachable/i.test(message)) {
    return `The code needed more than ${Math.round(memoryBytes / 2 ** 20)} MiB of memory and was stopped.`
  }
  if (/call stack size exceeded|stack overflow/i.test(message)) return 'The code recursed too deeply and was stopped.'
  return message
}

function messageOf(error: unknown): string {
  try {
    const { name, message } = error as Error
    return `${name}: ${message}`.slice(0, 1200)
  } catch {
    return 'The code threw something that cannot be shown.'
  }
}

/** No clock, no entropy and no output of the host. */
function quietWasi(memory: WebAssembly.Memory): Record<string, (...args: never[]) => number> {
  const view = (): DataView => new DataView(memory.buffer)
  return {
    clock_time_get(_id: number, _precision: bigint, result: number) {
      view().setBigUint64(result, GUEST_TIME_NS, true)
      return 0
    },
    random_get(at: number, length: number) {
      new Uint8Array(memory.buffer, at, length).fill(0)
      return 0
    },
    fd_write(_fd: number, vectors: number, count: number, written: number) {
      let total = 0
      for (let i = 0; i < count; i++) total += view().getUint32(vectors + i * 8 + 4, true)
      view().setUint32(written, total, true)
      return 0
    },
  }
}

await engine
parentPort?.postMessage(READY, [])
parentPort?.on('message', (request: SandboxRequest) => {
  run(request).then(
    (result) => parentPort?.postMessage(result, []),
    (error: unknown) => parentPort?.postMessage(failed(messageOf(error)), []),
  )
})
