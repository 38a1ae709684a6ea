import { access, rm, writeFile, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { homedir } from 'node:os'
import { Command } from 'commander'
import { artifactsBeside, openArtifacts } from '../../drivers/open-artifacts.ts'
import { openStore, withoutPassword } from '../../drivers/open-store.ts'
import { quickjsSandbox } from '../../drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../drivers/sandbox/sqljs.ts'
import { createTokenizers } from '../../drivers/tokenizers/tokenizers.ts'
import { defaultStore, findSecret } from '../../compose/plimsoll.ts'
import { sentenceOf, print, painterOf, screenOf, EXIT } from '../kit/output.ts'
import { type StoreFlags, addStoreOptions } from '../stores.ts'
import { speakers, vendors } from '../../formats/endpoints.ts'
import { withExamples } from '../kit/examples.ts'

export interface Check {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly message: string
  readonly advice?: string
}

export const ok = (name: string, message: string): Check => ({ name, state: 'ok', message })
export const warn = (name: string, message: string, advice?: string): Check => ({
  name,
  state: 'warn',
  message,
  ...(advice !== undefined && { advice }),
})
export const fail = (name: string, message: string, advice: string): Check => ({ name, state: 'fail', message, advice })

const LEAST_NODE = 20
/** Values of the store itself live under tenants without sessions. */
const PROBE_TENANT = 'doctor'

export function checkNode(version = process.versions.node): Check {
  const major = Number(version.split('.')[0])
  return major >= LEAST_NODE
    ? ok('node', version)
    : fail('node', `${version} is too old`, `Install Node ${LEAST_NODE} or newer.`)
}

/** Opens the store as a proxy would. One that is not there yet is fine when it can be made. */
export async function checkStore(flags: StoreFlags): Promise<readonly Check[]> {
  const url = flags.store ?? defaultStore()
  const file = /^sqlite:(?:\/\/(?=\/|\.))?(.+)$/.exec(url)?.[1]
  if (file !== undefined && !(await isThere(file))) {
    const folder = await nearestFolder(dirname(file))
    const problem = await writingProblem(folder)
    return [
      problem === undefined
        ? ok('store', `${withoutPassword(url)} will be created on first use; ${folder} can be written`)
        : fail(
            'store',
            `${folder} cannot be written: ${problem}`,
            'Choose another place with --store or PLIMSOLL_HOME.',
          ),
    ]
  }
  const store = openStore(url)
  try {
    const stats = await store.stats()
    const probe = `${process.pid} ${Date.now()}`
    await store.setValue(PROBE_TENANT, 'doctor', probe)
    if ((await store.getValue(PROBE_TENANT, 'doctor')) !== probe)
      return [fail('store', `${withoutPassword(url)} did not return what was written`, 'Run plimsoll store verify.')]
    const checks = [
      ok('store', `${withoutPassword(url)} can be written: ${stats.sessions} sessions, schema ${stats.schemaVersion}`),
    ]
    const secret = await findSecret(undefined, store)
    return [...checks, await checkArtifacts(flags.artifacts ?? artifactsBeside(url), secret)]
  } catch (error) {
    return [fail('store', sentenceOf(error), 'Run plimsoll store verify.')]
  } finally {
    await store.close()
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Rights alone do not tell: a full disk or a file system without files says so when it is written to. */
async function writingProblem(folder: string): Promise<string | undefined> {
  const probe = join(folder, `.plimsoll-doctor-${process.pid}`)
  try {
    await writeFile(probe, 'written by plimsoll doctor', { flag: 'wx', mode: 0o600 })
    await rm(probe)
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error)
  }
}

async function nearestFolder(folder: string): Promise<string> {
  return (await isThere(folder)) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder))
}

async function checkArtifacts(url: string, secret: Uint8Array): Promise<Check> {
  const artifacts = openArtifacts(url, { secret })
  try {
    const probe = Buffer.from(`doctor ${process.pid} ${Date.now()}`)
    const { handle } = await artifacts.put('doctor', probe)
    const back = await artifacts.read('doctor', handle)
    await artifacts.remove('doctor', handle)
    return back !== undefined && Buffer.compare(back, probe) === 0
      ? ok('artifacts', `${withoutPassword(url)} returns what was stored`)
      : fail(
          'artifacts',
          `${withoutPassword(url)} did not return the bytes that were stored`,
          'Choose another place with --artifacts.',
        )
  } catch (error) {
    return fail(
      'artifacts',
      sentenceOf(error),
      'Check the place and its permissions, or choose another with --artifacts.',
    )
  } finally {
    await artifacts.close()
  }
}

export async function checkSandbox(): Promise<Check> {
  const sandbox = quickjsSandbox()
  try {
    const {
      ok: ran,
      output,
      error,
    } = await sandbox.run({
      code: '6 * 7',
      inputs: {},
      timeoutMs: 5_000,
      memoryBytes: 64 * 2 ** 20,
      maxOutputBytes: 100,
    })
    return ran && output.includes('42')
      ? ok('sandbox', `${sandbox.name} runs code over artifacts`)
      : warn('sandbox', `${sandbox.name} does not run: ${error ?? output}`, 'npm install quickjs-wasi')
  } catch (error) {
    return warn('sandbox', sentenceOf(error), 'npm install quickjs-wasi')
  } finally {
    await sandbox.close()
  }
}

export async function checkSql(): Promise<Check> {
  const engine = sqljsEngine()
  try {
    const { ok: ran, error } = await engine.query({
      sql: 'SELECT count(*) FROM t',
      sources: [{ table: 't', bytes: Buffer.from('[{"a":1}]') }],
      timeoutMs: 5_000,
      maxRows: 1,
    })
    return ran
      ? ok('sql', `${engine.name} queries artifacts`)
      : warn('sql', `${engine.name} does not run: ${error ?? ''}`, 'npm install sql.js')
  } catch (error) {
    return warn('sql', sentenceOf(error), 'npm install sql.js')
  } finally {
    await engine.close()
  }
}

export async function checkTokenizer(): Promise<Check> {
  // Loading it here proves that it could be; the engine estimates unless it is told or a count straddles a decision.
  return (await createTokenizers().load('o200k'))
    ? ok(
        'tokenizer',
        'counts are estimates with an interval; for OpenAI models exact counts are used with exactTokens, and where the interval does not decide',
      )
    : warn('tokenizer', 'counts are estimates', 'npm install gpt-tokenizer for exact counts of OpenAI models')
}

type Environment = Readonly<Record<string, string | undefined>>

const TIMEOUT_MS = 4_000
const PROXY = 'http://127.0.0.1:4141'

/** Who is asked: the vendors, and servers of one's own whose address is set. */
const reached = (env: Environment): readonly { readonly label: string; readonly url: string }[] =>
  speakers.flatMap(({ endpoint: { label, url, isLocal, keys, bases } }) => {
    const host = isLocal && keys.length === 0 ? env[bases[0]!] : undefined
    if (host !== undefined) return [{ label, url: /^https?:/.test(host) ? host : `http://${host}` }]
    return isLocal ? [] : [{ label, url }]
  })

/** Any answer counts: without a key the vendor refuses, and refusing is being there. */
export async function checkUpstream(name: string, url: string): Promise<Check> {
  const startedAt = performance.now()
  try {
    const { status } = await fetch(url, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    return ok(`upstream ${name}`, `${url} answers ${status} in ${Math.round(performance.now() - startedAt)} ms`)
  } catch (error) {
    const cause =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : (error as Error).message
    return warn(
      `upstream ${name}`,
      `${url} does not answer: ${cause}`,
      'Check the network, HTTPS_PROXY and PLIMSOLL_CA_FILE.',
    )
  }
}

export async function checkUpstreams(env: Environment): Promise<readonly Check[]> {
  return Promise.all(reached(env).map(({ label, url }) => checkUpstream(label, url)))
}

export function checkKeys(env: Environment): Check {
  // Names alone: a report gets pasted into issues.
  const names = vendors.map(({ keys }) => keys[0]!)
  const set = names.filter((name) => (env[name] ?? '') !== '')
  return set.length > 0
    ? ok('keys', `${set.join(', ')} set`)
    : warn(
        'keys',
        `none of ${names.join(', ')} is set`,
        'plimsoll chat then talks to its demo model; a proxy passes on the keys of its clients.',
      )
}

export async function checkProxy(): Promise<Check> {
  try {
    const response = await fetch(`${PROXY}/healthz`, { signal: AbortSignal.timeout(1_000) })
    return response.ok
      ? ok('proxy', `one listens on ${PROXY}`)
      : warn(
          'proxy',
          `${PROXY} is taken by something else (status ${response.status})`,
          'plimsoll proxy --port chooses another port.',
        )
  } catch {
    return ok('proxy', `none runs on ${PROXY}; plimsoll proxy starts one`)
  }
}

/** Where clients on this machine send their requests. */
export async function checkClients(env: Environment, home = homedir()): Promise<readonly Check[]> {
  const checks = vendors.map(({ bases }) => baseUrl(bases[0]!, env[bases[0]!]))
  const claude = await settingIn(
    join(env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), 'settings.json'),
    /"ANTHROPIC_BASE_URL"\s*:\s*"([^"]*)"/,
  )
  const codex = await settingIn(
    join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'),
    /^\s*(?:openai_)?base_url\s*=\s*"([^"]*)"/m,
  )
  return [
    ...checks,
    ...(claude === undefined ? [] : [baseUrl('Claude Code settings', claude)]),
    ...(codex === undefined ? [] : [baseUrl('Codex config', codex)]),
  ]
}

function baseUrl(where: string, value: string | undefined): Check {
  if (value === undefined || value === '') return ok(where, 'not set: clients talk to the vendor')
  const local = /^https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]/.test(`${value}/`)
  return local
    ? ok(where, `${withoutUser(value)}: through a proxy on this machine`)
    : warn(where, `${withoutUser(value)} is not a proxy on this machine`)
}

const withoutUser = (url: string): string => url.replace(/\/\/[^/@]*@/, '//***@')

async function settingIn(file: string, pattern: RegExp): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return pattern.exec(text)?.[1]
}

interface DoctorFlags extends StoreFlags {
  readonly offline?: boolean
  readonly upstream?: string
}

export function doctorCommand(): Command {
  return withExamples(
    addStoreOptions(new Command('doctor'))
      .option('--offline', 'skip the checks that need the network')
      .option('--upstream <url>', 'check this URL instead of the vendors’ APIs'),
    'plimsoll doctor --offline',
    'plimsoll doctor --offline --json',
  ).action(runDoctor)
}

async function runDoctor(flags: DoctorFlags): Promise<void> {
  const env = process.env
  const online = async (): Promise<readonly Check[]> => {
    if (flags.offline === true) return []
    const upstreams =
      flags.upstream === undefined ? await checkUpstreams(env) : [await checkUpstream('given', flags.upstream)]
    return [...upstreams, await checkProxy()]
  }
  const groups = await Promise.all([
    checkStore(flags),
    Promise.all([checkSandbox(), checkSql(), checkTokenizer()]),
    checkClients(env),
    online(),
  ])
  const checks = [checkNode(), ...groups.flat(), checkKeys(env)]
  if (checks.some(({ state }) => state === 'fail')) process.exitCode = EXIT.broken
  print(flags.json, checks, () => {
    const paint = painterOf(screenOf(process.stdout))
    const signs = { ok: paint('green', '✓'), warn: paint('yellow', '!'), fail: paint('red', '✗') }
    return checks
      .map(
        ({ name, state, message, advice }) =>
          `${signs[state]} ${name}: ${message}${advice === undefined ? '' : `\n    ${paint('dim', advice)}`}`,
      )
      .join('\n')
  })
}
