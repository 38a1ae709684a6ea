import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dirname, '../../..')
/** The command line as it is published; `npm test` builds it first. */
export const BINARY = join(ROOT, 'dist/cli/main.js')
export const FIXTURES = join(ROOT, 'test/fixtures/transcripts')

if (!existsSync(BINARY)) throw new Error(`${BINARY} is absent. Run npm run build first.`)

export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly input?: string
}

/** What a clean user has: no keys, no colours forced, a home of its own. */
export function cleanEnvironment(home: string, env: RunOptions['env'] = {}): NodeJS.ProcessEnv {
  const { PATH, TMPDIR, LANG } = process.env
  return {
    PATH,
    TMPDIR,
    LANG: LANG ?? 'C.UTF-8',
    HOME: home,
    PLIMSOLL_HOME: join(home, 'plimsoll'),
    TERM: 'xterm-256color',
    ...env,
  }
}

/** Runs the built command line with pipes. */
export function plimsoll(home: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((done, failed) => {
    const child = spawn(process.execPath, [BINARY, ...args], {
      cwd: options.cwd ?? home,
      env: cleanEnvironment(home, options.env),
    })
    let out = ''
    let err = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    child.once('error', failed)
    child.once('close', (code) => done({ code, out, err }))
    child.stdin.end(options.input ?? '')
  })
}

/** A home that is gone after the test. */
export async function temporaryHome(): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'plimsoll-cli-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}

export const ESCAPE = '\u001B'
