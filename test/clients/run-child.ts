import { spawn } from 'node:child_process'

/** Runs a program to its end, or kills it when its time is up; gives what it printed. */
export function runChild(
  [file = '', ...args]: readonly string[],
  env: Record<string, string>,
  { cwd, timeoutMs }: { readonly cwd: string; readonly timeoutMs: number },
): Promise<{ exit: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { env, cwd, stdio: ['ignore', 'pipe', 'pipe'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
    const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
    child.once('exit', (code) => {
      clearTimeout(timer)
      resolve({ exit: code ?? -1, output: Buffer.concat(chunks).toString() })
    })
  })
}
