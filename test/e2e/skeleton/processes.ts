import { spawn, type ChildProcess } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

const root = resolve(import.meta.dirname, '../../..')

/** A Node process on the sources, with no environment but what it is given. */
export function node(args: readonly string[], env: Record<string, string>): ChildProcess {
  return spawn(process.execPath, ['--import', 'tsx', ...args], {
    cwd: root,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** The first line that matches; what the child wrote to standard error when it ends without one. */
export function lineMatching(child: ChildProcess, matches: (line: string) => boolean): Promise<string> {
  const errors: Buffer[] = []
  child.stderr!.on('data', (chunk: Buffer) => errors.push(chunk))
  return new Promise((resolve, reject) => {
    createInterface(child.stdout!).on('line', (line) => matches(line) && resolve(line))
    child.once('exit', (code) => reject(new Error(`ended with ${code}: ${Buffer.concat(errors).toString()}`)))
  })
}

export const exitOf = (child: ChildProcess): Promise<void> =>
  new Promise((resolve) =>
    child.exitCode !== null || child.signalCode !== null ? resolve() : child.once('exit', () => resolve()),
  )
