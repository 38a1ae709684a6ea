import { access, rm, writeFile, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { homedir } from 'node:os'
import { Command } from 'commander'
import { artifactsBeside, openArtifacts } from '../../drivers/open-artifacts.ts'
import { openStore, withoutPassword } from '../../drivers/open-store.ts'
import { quickjsSandbox } from '../../drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../drivers/sandbox/sqljs.ts'
import { createTokenizers } from '../../drivers/tokenizers/tokenizers.ts'
import { defaultStore, findSecret } from '../../plimsoll.ts'
import type { MaintainedStore } from '../../ports/store-maintenance.ts'
import { policyNamed } from '../../engine/presets/index.ts'
import { windowOf } from '../catalogue.ts'
import { parsedJson, recordOf } from '../../core/values.ts'
import { listedSessions, tenantsWithSessions } from '../../dashboard/stored-sessions.ts'
import { reportOf } from '../../engine/store-admin/session-report.ts'
import { grouped, plural } from '../kit/figures.ts'
import { tokenCount } from '../option-values.ts'
import { print, painterOf, screenOf, EXIT } from '../kit/output.ts'
import { type StoreFlags, addStoreOptions } from '../stores.ts'
import { speakers, vendors } from '../../formats/endpoints.ts'
import { unknownVariables } from '../../settings/variables.ts'
import { withExamples } from '../kit/examples.ts'

interface Check {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly message: string
  readonly advice?: string
}

/** Runs one check. A failed check throws its reason; `advice` says what to do about it. */
async function checked(
  name: string,
  otherwise: 'warn' | 'fail',
  advice: string,
  work: () => Promise<string>,
): Promise<Check> {
  try {
    return { name, state: 'ok', message: await work() }
  } catch (error) {
    const { message, cause } = error as Error
    // The reason of a failed fetch is in its cause.
    const why = cause instanceof Error && message === 'fetch failed' ? cause.message : message
    return { name, state: otherwise, message: why, advice }
  }
}

const NEEDED_NODE = '20.19, 22.12 or newer'
/** A tenant name without sessions, like those of the store's own values. */
const PROBE_TENANT = 'doctor'

const checkNode = (version = process.versions.node): Promise<Check> =>
  checked('node', 'fail', `Install Node ${NEEDED_NODE}.`, async () => {
    const [major = 0, minor = 0] = version.split('.').map(Number)
    if (major < 20 || major === 21 || (major === 20 && minor < 19) || (major === 22 && minor < 12))
      throw new Error(`${version} does not run it`)
    return version
  })

const checkEnvironment = (): Promise<Check> =>
  checked('environment', 'fail', 'Correct or unset it; docs/reference/environment.md lists them all.', async () => {
    const sentences = unknownVariables()
    if (sentences.length > 0) throw new Error(sentences.join(' '))
    return 'every PLIMSOLL_ variable that is set is known'
  })

/** Opens the store as a proxy would. A store that does not exist yet passes if it can be created. */
async function checkStore(flags: StoreFlags): Promise<readonly Check[]> {
  const url = flags.store ?? defaultStore()
  const shown = withoutPassword(url)
  const file = /^sqlite:(?:\/\/(?=\/|\.))?(.+)$/.exec(url)?.[1]
  if (file !== undefined && !(await isThere(file)))
    return [
      await checked('store', 'fail', 'Choose another place with --store or PLIMSOLL_HOME.', async () => {
        const folder = await nearestFolder(dirname(file))
        await writeProbe(folder)
        return `${shown} will be created on first use; ${folder} can be written`
      }),
    ]
  const store = openStore(url)
  try {
    const found = await checked(
      'store',
      'fail',
      'Run plimsoll store verify; an encrypted store needs PLIMSOLL_KEY.',
      async () => {
        const { schemaVersion } = await store.stats()
        const sessions = (await listedSessions(store, await tenantsWithSessions(store))).length
        const probe = `${process.pid} ${Date.now()}`
        await store.setValue(PROBE_TENANT, 'doctor', probe)
        if ((await store.getValue(PROBE_TENANT, 'doctor')) !== probe)
          throw new Error(`${shown} did not return what was written`)
        return `${shown} can be written: ${sessions} sessions, schema ${schemaVersion}`
      },
    )
    return found.state === 'ok'
      ? [found, await checkArtifacts(flags.artifacts ?? artifactsBeside(url), store), await checkUsage(store)]
      : [found]
  } finally {
    await store.close()
  }
}

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

/** Writes a file, because permissions alone do not show a full disk or a read-only file system. */
async function writeProbe(folder: string): Promise<void> {
  const probe = join(folder, `.plimsoll-doctor-${process.pid}`)
  try {
    await writeFile(probe, 'written by plimsoll doctor', { flag: 'wx', mode: 0o600 })
    await rm(probe)
  } catch (cause) {
    throw new Error(`${folder} cannot be written: ${(cause as NodeJS.ErrnoException).code}`, { cause })
  }
}

const nearestFolder = async (folder: string): Promise<string> =>
  (await isThere(folder)) || dirname(folder) === folder ? folder : nearestFolder(dirname(folder))

const checkArtifacts = (url: string, store: MaintainedStore): Promise<Check> =>
  checked('artifacts', 'fail', 'Check the place and its permissions, or choose another with --artifacts.', async () => {
    const artifacts = openArtifacts(url, { secret: await findSecret(undefined, store) })
    try {
      const probe = Buffer.from(`doctor ${process.pid} ${Date.now()}`)
      const { handle } = await artifacts.put('doctor', probe)
      const back = await artifacts.read('doctor', handle)
      await artifacts.remove('doctor', handle)
      if (back === undefined || Buffer.compare(back, probe) !== 0)
        throw new Error(`${withoutPassword(url)} did not return the bytes that were stored`)
      return `${withoutPassword(url)} returns what was stored`
    } finally {
      await artifacts.close()
    }
  })

/** The end of the chain: calls that came through, and whose answers said what was used. */
const checkUsage = (store: MaintainedStore): Promise<Check> =>
  checked('usage', 'warn', 'Send a request through the proxy or the library, and look again.', async () => {
    const [newest] = await listedSessions(store, await tenantsWithSessions(store))
    if (newest === undefined) throw new Error('no call has come through yet')
    const { session, calls, withoutUsage } = await reportOf(store, newest.tenant, newest.session)
    const seen = `${plural(calls, 'call')} in the newest session, ${session}`
    if (withoutUsage > 0)
      throw new Error(`${seen}; ${withoutUsage} of them without usage, so that load and price are estimates`)
    return calls === 0 ? `no answer yet in the newest session, ${session}` : `${seen}, with usage`
  })

const checkSandbox = (): Promise<Check> =>
  checked('sandbox', 'warn', 'npm install quickjs-wasi', async () => {
    const sandbox = quickjsSandbox()
    const limits = { timeoutMs: 5_000, memoryBytes: 64 * 2 ** 20, maxOutputBytes: 100 }
    const { ok, output, error } = await sandbox
      .run({ code: '6 * 7', inputs: {}, ...limits })
      .finally(() => sandbox.close())
    if (!ok || !output.includes('42')) throw new Error(`${sandbox.name} does not run: ${error ?? output}`)
    return `${sandbox.name} runs code over artifacts`
  })

const checkSql = (): Promise<Check> =>
  checked('sql', 'warn', 'npm install sql.js', async () => {
    const engine = sqljsEngine()
    const sources = [{ table: 't', bytes: Buffer.from('[{"a":1}]') }]
    const { ok, error } = await engine
      .query({ sql: 'SELECT count(*) FROM t', sources, timeoutMs: 5_000, maxRows: 1 })
      .finally(() => engine.close())
    if (!ok) throw new Error(`${engine.name} does not run: ${error ?? ''}`)
    return `${engine.name} queries artifacts`
  })

/** Loads the vocabulary to show that it works. The engine uses it only when told to, or when an estimate cannot decide. */
const checkTokenizer = (): Promise<Check> =>
  checked('tokenizer', 'warn', 'npm install gpt-tokenizer for exact counts of OpenAI models', async () => {
    if (!(await createTokenizers().load('o200k'))) throw new Error('counts are estimates')
    return 'counts are estimates with an interval; for OpenAI models, exact counts are used with exactTokens, or when an estimate cannot decide'
  })

/** Where the numbers of a preset do harm on a model, and what helps. Its page in docs/presets says more. */
const checkPolicy = (name: string, model: string | undefined, window: number | undefined): Promise<Check> =>
  checked('policy', 'warn', 'docs/presets.md says where the numbers of a preset do harm, and what helps.', async () => {
    const { defaultWindow = 128_000 } = policyNamed(name)
    const known = windowOf(model)
    const size = window ?? known ?? defaultWindow
    const on = model === undefined ? '' : ` on ${model}`
    const harms: Readonly<Record<string, string | false>> = {
      autosre:
        size > 200_000 && `works within 32,000 tokens of ${grouped(size)}: set override.steps.squeeze-budget.tokens`,
      'cyber-autoagent':
        size < 20_000 && `counts 11,000 tokens for instructions and tools in a window of ${grouped(size)}`,
      contextguard: size < 6_000 && `keeps a fifth of ${grouped(size)} tokens free: little is left to work in`,
      'adk-code': known === undefined && window === undefined && 'takes a window of 1,000,000 tokens: set --window',
      'ai-agent':
        size >= 65_536 &&
        `holds back ${grouped(Math.floor(size / 4))} tokens for answers: set defaults.maxOutputTokens or send max_tokens`,
    }
    const harm = harms[name]
    if (model !== undefined && typeof harm === 'string') throw new Error(`${name}${on} ${harm}`)
    return `${name}${on}`
  })

type Environment = Readonly<Record<string, string | undefined>>

const TIMEOUT_MS = 4_000

/** The servers to check: the vendors, and local servers whose address is set. */
const reached = (env: Environment): readonly { readonly label: string; readonly url: string }[] =>
  speakers.flatMap(({ endpoint: { label, url, isLocal, keys, bases } }) => {
    const host = isLocal && keys.length === 0 ? env[bases[0]!] : undefined
    if (host !== undefined) return [{ label, url: /^https?:/.test(host) ? host : `http://${host}` }]
    return isLocal ? [] : [{ label, url }]
  })

/** Any answer passes: without a key the vendor refuses the request, which proves that it can be reached. */
const checkUpstream = (name: string, url: string, otherwise: 'warn' | 'fail'): Promise<Check> =>
  checked(`upstream ${name}`, otherwise, 'Check the network, HTTPS_PROXY and PLIMSOLL_CA_FILE.', async () => {
    const startedAt = performance.now()
    const { status } = await fetch(url, { method: 'HEAD', redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
    return `${url} answers ${status} in ${Math.round(performance.now() - startedAt)} ms`
  })

const checkKeys = (env: Environment): Promise<Check> =>
  checked(
    'keys',
    'warn',
    'plimsoll chat then talks to its demo model; a proxy passes on the keys of its clients.',
    async () => {
      // Only the variables' names, because reports are pasted into issues.
      const names = vendors.map(({ keys }) => keys[0]!)
      const set = names.filter((name) => (env[name] ?? '') !== '')
      if (set.length === 0) throw new Error(`none of ${names.join(', ')} is set`)
      return `${set.join(', ')} set`
    },
  )

/** From the address that a client has to the upstream behind it. Any answer of the upstream passes. */
async function checkWay(client: string, url: string): Promise<string> {
  const { origin, pathname } = new URL(url)
  const prefix = pathname.replace(/\/(?:v1)?\/?$/, '')
  const get = (path: string) => fetch(path, { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) })
  const ready = await get(`${origin}/readyz`).catch(() => undefined)
  if (ready === undefined) throw new Error(`nothing listens on ${origin}, where ${client} sends its requests`)
  const state = recordOf(parsedJson(await ready.text()))
  if (state?.['ready'] === undefined) throw new Error(`${origin} is no proxy of Plimsoll (status ${ready.status})`)
  if (state['store'] !== true) throw new Error(`the store of the proxy on ${origin} does not answer`)
  // At the root, the proxy tells upstreams apart by the paths of model calls.
  if (prefix === '') return `${url}: through the proxy`
  const answer = await get(`${origin}${prefix}/v1/models`)
  // The error names the address that has no upstream, or the upstream that cannot be reached.
  if (answer.headers.has('x-plimsoll-error'))
    throw new Error(String(recordOf(recordOf(parsedJson(await answer.text()))?.['error'])?.['message']))
  return `${url}: through the proxy; its upstream answers ${answer.status}`
}

/** The base URLs that clients on this machine use. */
async function checkClients(env: Environment, isOnline: boolean, home = homedir()): Promise<readonly Check[]> {
  const claude = await settingIn(
    join(env['CLAUDE_CONFIG_DIR'] ?? join(home, '.claude'), 'settings.json'),
    /"ANTHROPIC_BASE_URL"\s*:\s*"([^"]*)"/,
  )
  const codex = await settingIn(
    join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'),
    /^\s*(?:openai_)?base_url\s*=\s*"([^"]*)"/m,
  )
  const found = [
    ...vendors.map(({ bases }) => ({ name: bases[0]!, value: env[bases[0]!] ?? '' })),
    { name: 'Claude Code settings', value: claude ?? '' },
    { name: 'Codex config', value: codex ?? '' },
  ].filter(({ value }) => value !== '')
  if (found.length > 0) return Promise.all(found.map(({ name, value }) => checkClient(name, value, isOnline)))
  const advice =
    'plimsoll run -- claude, or the variables that plimsoll proxy prints. Programs that use the library need neither.'
  return [
    { name: 'clients', state: 'warn', message: 'none is set to a proxy: their requests go to the vendor', advice },
  ]
}

function checkClient(name: string, value: string, isOnline: boolean): Promise<Check> {
  const shown = value.replace(/\/\/[^/@]*@/, '//***@')
  if (!/^https?:\/\/(?:127\.0\.0\.1|localhost|\[::1\])[:/]/.test(`${value}/`))
    return checked(name, 'warn', 'plimsoll proxy prints the address to set.', async () => {
      throw new Error(`${shown} is not a proxy on this machine`)
    })
  return checked(name, 'fail', 'plimsoll proxy starts one, and prints the address to set.', async () =>
    isOnline ? checkWay(name, value) : `${shown}: through a proxy on this machine`,
  )
}

async function settingIn(file: string, pattern: RegExp): Promise<string | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return pattern.exec(text)?.[1]
}

interface DoctorFlags extends StoreFlags {
  readonly offline?: boolean
  readonly upstream?: string
  readonly policy?: string
  readonly model?: string
  readonly window?: number
}

export function doctorCommand(): Command {
  return withExamples(
    addStoreOptions(new Command('doctor'))
      .option('--offline', 'skip the checks that need the network')
      .option('--upstream <url>', 'check this URL instead of the vendors’ APIs')
      .option('--policy <name>', 'check whether this policy suits the model')
      .option('--model <id>', 'the model that agents will use')
      .option('--window <tokens>', 'its window', tokenCount),
    'plimsoll doctor --offline',
    'plimsoll doctor --offline --policy autosre --model gemini-2.5-pro',
    'plimsoll doctor --offline --json',
  ).action(runDoctor)
}

async function runDoctor(flags: DoctorFlags): Promise<void> {
  const env = process.env
  const online = async (): Promise<readonly Check[]> => {
    if (flags.offline === true) return []
    if (flags.upstream !== undefined) return [await checkUpstream('given', flags.upstream, 'fail')]
    return Promise.all(reached(env).map(({ label, url }) => checkUpstream(label, url, 'warn')))
  }
  const groups = await Promise.all([
    checkStore(flags),
    Promise.all([checkSandbox(), checkSql(), checkTokenizer()]),
    checkClients(env, flags.offline !== true),
    online(),
  ])
  const { policy = 'plimsoll', model, window } = flags
  const checks = [
    await checkNode(),
    await checkEnvironment(),
    ...groups.flat(),
    await checkKeys(env),
    await checkPolicy(policy, model, window),
  ]
  if (checks.some(({ state }) => state === 'fail')) process.exitCode = EXIT.broken
  print(flags.json, checks, () => {
    const paint = painterOf(screenOf(process.stdout))
    const signs = { ok: paint('green', '✓'), warn: paint('yellow', '!'), fail: paint('red', '✗') }
    return checks
      .map(
        ({ name, state, message, advice }) =>
          `${signs[state]} ${name}: ${message}${advice === undefined ? '' : `\n    ${paint('dim', advice)}`}`,
      )
      .concat(verdictOn(checks))
      .join('\n')
  })
}

/** The answer in one sentence, for people who do not read the list. */
function verdictOn(checks: readonly Check[]): string {
  const named = (wanted: Check['state']): string =>
    checks
      .filter(({ state }) => state === wanted)
      .map(({ name }) => name)
      .join(', ')
  if (named('fail') !== '') return `\nNo: this installation does not work. Repair ${named('fail')}.`
  return `\nYes: this installation works.${named('warn') === '' ? '' : ` Warnings: ${named('warn')}.`}`
}
