import { readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { speakers, vendors } from '../../formats/endpoints.ts'
import { ok, warn, type Check } from './check.ts'

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
