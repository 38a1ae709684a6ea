import { readFileSync } from 'node:fs'
import { PlimsollError } from '../core/errors.ts'
import type { Policy } from '../core/policy.ts'
import {
  checkConfigText,
  optionsOf,
  problemLine,
  type BudgetConfig,
  type Config,
  type KnownModel,
  type PlimsollSettings,
} from './policy/index.ts'
import { isWire, wires } from '../formats/registry.ts'
import type { UpstreamConfig, Upstreams } from './upstreams.ts'

/** What `plimsoll proxy --config` reads. Flags win over it. */
export interface ProxyConfig {
  readonly port?: number
  readonly host?: string
  readonly upstreams?: Upstreams
  readonly window?: number
  /** Its name, or what the file makes of it. */
  readonly policy?: string | Policy
  /** The file's own, which requests may ask for by name. */
  readonly policies?: PlimsollSettings['policies']
  /** By agent name, what the file says about it. */
  readonly agents?: PlimsollSettings['agents']
  readonly observe?: boolean
  readonly tools?: boolean
  readonly store?: string
  readonly artifacts?: string
  readonly maxBodyBytes?: number
  readonly caFile?: string
  readonly workers?: number
  readonly drainMs?: number
  readonly requestTimeoutMs?: number
  readonly upstreamTimeoutMs?: number
  readonly upstreamIdleMs?: number
  readonly budgets?: readonly BudgetConfig[]
  /** What is known about models, over the catalogue. */
  readonly models?: Readonly<Record<string, KnownModel>>
  /** The model that writes summaries, its key out of the environment. */
  readonly summarizer?: PlimsollSettings['summarizer']
}

const KINDS: Readonly<
  Record<
    Exclude<keyof ProxyConfig, 'agents' | 'policies' | 'summarizer'>,
    'number' | 'string' | 'boolean' | 'object' | 'upstreams'
  >
> = {
  port: 'number',
  host: 'string',
  upstreams: 'upstreams',
  window: 'number',
  policy: 'string',
  observe: 'boolean',
  tools: 'boolean',
  store: 'string',
  artifacts: 'string',
  maxBodyBytes: 'number',
  caFile: 'string',
  workers: 'number',
  drainMs: 'number',
  requestTimeoutMs: 'number',
  upstreamTimeoutMs: 'number',
  upstreamIdleMs: 'number',
  budgets: 'object',
  models: 'object',
}

/** Reads YAML or JSON. @throws PlimsollError `bad-config` that names the file, the line and the nearest valid key. */
export function readConfig(file: string): ProxyConfig {
  const config = checkedFile(file)
  return parseConfig(Object.fromEntries(Object.entries(config).filter(([key]) => key in KINDS)), file)
}

/**
 * What the file makes of policies: numbers of its own, policies of its own, agents that differ, a model for summaries. `policy` wins over
 * the file's name.
 */
export function readPolicies(
  file: string,
  policy?: string,
): Pick<ProxyConfig, 'policy' | 'policies' | 'agents' | 'summarizer'> {
  const config = checkedFile(file)
  const named = policy ?? config.policy
  const options = optionsOf({ ...config, ...(policy !== undefined && { policy }) })
  const { agents, policies, summarizer } = options
  const isNamed = config.override === undefined && config.policies === undefined && agents === undefined
  return {
    ...(isNamed ? named !== undefined && { policy: named } : { policy: options.policy }),
    ...(policies !== undefined && { policies }),
    ...(agents !== undefined && { agents }),
    ...(summarizer !== undefined && { summarizer }),
  }
}

function checkedFile(file: string): Config {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PlimsollError('bad-config', `${file} cannot be read: ${(cause as Error).message}.`, { cause })
  }
  const { config, problems } = checkConfigText(text, file)
  if (problems.length > 0) {
    throw new PlimsollError('bad-config', problems.map(problemLine).join('\n'), { fields: { file, problems } })
  }
  return config
}

export function parseConfig(parsed: unknown, file = 'the configuration'): ProxyConfig {
  if (!isRecord(parsed)) throw wrong(file, 'It should be an object.')
  for (const [key, value] of Object.entries(parsed)) {
    const kind = (KINDS as Record<string, string | undefined>)[key]
    if (kind === undefined)
      throw wrong(file, `There is no setting ${JSON.stringify(key)}. Known: ${Object.keys(KINDS).join(', ')}.`)
    if (kind !== 'upstreams' && typeof value !== kind) throw wrong(file, `${key} should be a ${kind}.`)
    if (kind === 'number' && !(Number.isInteger(value) && (value as number) >= 0)) {
      throw wrong(file, `${key} should be a whole number.`)
    }
  }
  const { upstreams, ...rest } = parsed as ProxyConfig
  return { ...rest, ...(upstreams !== undefined && { upstreams: parseUpstreams(upstreams, file) }) }
}

function parseUpstreams(given: unknown, file: string): Upstreams {
  if (!isRecord(given)) throw wrong(file, 'upstreams should be an object of prefixes.')
  return Object.fromEntries(
    Object.entries(given).map(([prefix, value]) => {
      if (!/^[a-z][a-z0-9-]*$/.test(prefix)) throw wrong(file, `${JSON.stringify(prefix)} is no prefix.`)
      const list: unknown[] = Array.isArray(value) ? value : [value]
      return [prefix, list.map((one) => parseUpstream(one, `upstreams.${prefix}`, file))]
    }),
  )
}

function parseUpstream(given: unknown, where: string, file: string): UpstreamConfig {
  if (typeof given === 'string') return { url: given }
  if (!isRecord(given) || typeof given['url'] !== 'string') throw wrong(file, `${where} needs a url.`)
  const { url, model, window, wire, headers, ...others } = given
  const unknown = Object.keys(others)
  if (unknown.length > 0) throw wrong(file, `${where} has no setting ${unknown.join(', ')}.`)
  if (model !== undefined && typeof model !== 'string') throw wrong(file, `${where}.model should be a string.`)
  if (window !== undefined && typeof window !== 'number') throw wrong(file, `${where}.window should be a number.`)
  if (wire !== undefined && !isWire(wire)) {
    throw wrong(file, `${where}.wire should be one of ${wires.map(({ id }) => id).join(', ')}.`)
  }
  if (wire !== undefined && model === undefined) throw wrong(file, `${where}.wire needs a model beside it.`)
  if (headers !== undefined && !isRecord(headers)) throw wrong(file, `${where}.headers should be an object.`)
  return {
    url,
    ...(model !== undefined && { model }),
    ...(window !== undefined && { window }),
    ...(wire !== undefined && { wire }),
    ...(headers !== undefined && { headers: resolveHeaders(headers, where, file) }),
  }
}

/** `$NAME` stands for an environment variable, so that credentials need not be written into a file. */
function resolveHeaders(headers: Record<string, unknown>, where: string, file: string): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]): [string, string] => {
    if (typeof value !== 'string') throw wrong(file, `${where}.headers.${name} should be a string.`)
    const resolved = value.replace(/\$\{?([A-Z][A-Z0-9_]*)\}?/g, (_, variable: string) => {
      const found = process.env[variable]
      if (found === undefined) throw wrong(file, `${where}.headers.${name} needs the variable ${variable}.`)
      return found
    })
    return [name.toLowerCase(), resolved]
  })
  return Object.fromEntries(entries)
}

const wrong = (file: string, message: string): PlimsollError => new PlimsollError('bad-config', `${file}: ${message}`)

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
