import { spawn, type ChildProcessByStdio } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'

export interface WorkerProcess {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>
  /** Called with each whole line that the worker wrote. */
  onLine(listener: (line: string) => void): void
  /** Resolves when the process is gone and everything it wrote was read. */
  readonly done: Promise<{ code: number | null; signal: NodeJS.Signals | null; errors: string }>
}

/** Starts a TypeScript file of the tests as a process of its own. */
export function startWorker(file: URL, args: readonly string[], env: Record<string, string> = {}): WorkerProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', fileURLToPath(file), ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  })
  const lines = createInterface({ input: child.stdout })
  const listeners: ((line: string) => void)[] = []
  lines.on('line', (line) => listeners.forEach((listener) => listener(line)))
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text
  })
  const read = new Promise<void>((resolve) => lines.on('close', resolve))
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal }))
  })
  return {
    child,
    onLine: (listener) => listeners.push(listener),
    done: Promise.all([exited, read]).then(([exit]) => ({ ...exit, errors })),
  }
}
