import { access, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { artifactsBeside, openArtifacts } from '../../drivers/open-artifacts.ts'
import { openStore } from '../../drivers/open-store.ts'
import { withoutPassword } from '../../drivers/store-url.ts'
import { quickjsSandbox } from '../../drivers/sandbox/quickjs.ts'
import { sqljsEngine } from '../../drivers/sandbox/sqljs.ts'
import { createTokenizers } from '../../drivers/tokenizers/tokenizers.ts'
import { defaultStore, findSecret } from '../../compose/plimsoll.ts'
import { sentenceOf } from '../kit/print-error.ts'
import type { StoreFlags } from '../stores/open.ts'
import { fail, ok, warn, type Check } from './check.ts'

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
