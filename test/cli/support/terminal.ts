import { spawn } from '@lydell/node-pty'
import { BINARY, cleanEnvironment, ESCAPE, type RunOptions } from './binary.ts'

export interface TerminalOptions extends RunOptions {
  readonly columns?: number
  readonly rows?: number
}

export interface Terminal {
  readonly pid: number
  /** Everything that was drawn so far, escape sequences included. */
  raw(): string
  /** The same without them. */
  text(): string
  /** Resolves when the pattern occurs in what was drawn after the last match; fails with the screen when it never does. */
  waitFor(pattern: RegExp | string): Promise<void>
  send(keys: string): void
  kill(signal: string): void
  readonly ended: Promise<{ readonly code: number; readonly signal: number | undefined }>
}

export const CTRL_C = '\u0003'
export const CTRL_D = '\u0004'
export const ENTER = '\r'

// Cursor movements, colours, modes and titles.
const BELL = String.fromCharCode(7)
const SEQUENCE = new RegExp(`${ESCAPE}(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^${BELL}]*${BELL}|[@-_])`, 'g')
const PATIENCE_MS = 30_000

/** The built command line in a real terminal. */
export function openTerminal(home: string, args: readonly string[], options: TerminalOptions = {}): Terminal {
  const { columns = 80, rows = 24 } = options
  const child = spawn(process.execPath, [BINARY, ...args], {
    name: options.env?.['TERM'] ?? 'xterm-256color',
    cols: columns,
    rows,
    cwd: options.cwd ?? home,
    env: cleanEnvironment(home, options.env),
  })
  let raw = ''
  let seen = 0
  const checks = new Set<() => void>()
  child.onData((data) => {
    raw += data
    for (const check of checks) check()
  })
  const ended = new Promise<{ code: number; signal: number | undefined }>((resolve) => {
    child.onExit(({ exitCode, signal }) => resolve({ code: exitCode, signal }))
  })
  const text = (): string => raw.replace(SEQUENCE, '').replaceAll('\r\n', '\n')
  return {
    pid: child.pid,
    raw: () => raw,
    text,
    waitFor(pattern) {
      return new Promise((resolve, reject) => {
        const check = (): void => {
          const fresh = text().slice(seen)
          const at = typeof pattern === 'string' ? fresh.indexOf(pattern) : fresh.search(pattern)
          if (at < 0) return
          const length = typeof pattern === 'string' ? pattern.length : (pattern.exec(fresh)?.[0].length ?? 0)
          seen += at + length
          finish()
          resolve()
        }
        const finish = (): void => {
          checks.delete(check)
          clearTimeout(timer)
        }
        const timer = setTimeout(() => {
          finish()
          reject(new Error(`The terminal never showed ${String(pattern)}. It shows:\n${text().slice(-3_000)}`))
        }, PATIENCE_MS)
        checks.add(check)
        check()
      })
    },
    send: (keys) => child.write(keys),
    kill: (signal) => child.kill(signal),
    ended,
  }
}
