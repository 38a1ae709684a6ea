import { spawn } from 'node:child_process'
import type { ToolContext } from './tool.ts'

export interface ProcessOptions extends ToolContext {
  readonly timeoutMs: number
}

const MAX_OUTPUT_BYTES = 16 * 2 ** 20

/** Runs a program and gives back what it said and how it ended. Stopping takes its children along. */
export function runProcess(file: string, args: readonly string[], options: ProcessOptions): Promise<string> {
  const { cwd, signal, timeoutMs } = options
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: process.platform !== 'win32' })
    const chunks: Buffer[] = []
    let size = 0
    const take = (chunk: Buffer): void => {
      if (size < MAX_OUTPUT_BYTES) chunks.push(chunk)
      size += chunk.length
    }
    child.stdout.on('data', take)
    child.stderr.on('data', take)
    let ended = ''
    const stop = (why: string): void => {
      ended = why
      try {
        // The group: a shell's children would go on without it.
        if (child.pid !== undefined) process.kill(process.platform === 'win32' ? child.pid : -child.pid, 'SIGKILL')
      } catch {
        child.kill('SIGKILL')
      }
    }
    const timer = setTimeout(() => stop(`stopped after ${timeoutMs / 1000} s`), timeoutMs)
    const onAbort = (): void => stop('stopped by the user')
    signal.addEventListener('abort', onAbort, { once: true })
    const finish = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
    }
    child.once('error', (error) => {
      finish()
      reject(new Error(`${file} cannot be run: ${error.message}`))
    })
    child.once('close', (code, killedBy) => {
      finish()
      const output = Buffer.concat(chunks).toString('utf8')
      const cut = size > MAX_OUTPUT_BYTES ? `\n[${size - MAX_OUTPUT_BYTES} bytes more]` : ''
      const how = ended !== '' ? ended : code === null ? `killed by ${killedBy ?? 'a signal'}` : `exit code ${code}`
      resolve(`${output}${cut}${output === '' || output.endsWith('\n') ? '' : '\n'}[${how}]`)
    })
  })
}
