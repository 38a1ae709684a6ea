import { withoutPassword } from '../drivers/open-store.ts'
import { policyOf, windowOf, type Config } from '../settings/index.ts'
import { policyNamed } from '../engine/presets/index.ts'
import { plainSettingsOf, type ProxyFlags } from './proxy-options.ts'
import { defaultStore } from '../compose/plimsoll.ts'

export interface Setting {
  readonly name: string
  readonly value: unknown
  readonly from: 'environment' | 'file' | 'preset' | 'default'
}

/** The policy as it would be applied, number by number. */
export function policySettings(config: Config, agent: string): readonly Setting[] {
  const policy = policyOf(config, agent)
  const named = config.agents?.[agent]?.policy ?? config.policy
  const base =
    named === undefined
      ? 'plimsoll'
      : (config.policies?.[named]?.extends ?? (config.policies?.[named] === undefined ? named : 'plimsoll'))
  const preset = new Map(leaves(policyNamed(base, {})))
  const withEnvironment = new Map(leaves(policyNamed(base)))
  const window = windowOf(config, agent)
  return [
    { name: 'policy', value: named ?? 'plimsoll', from: named === undefined ? 'default' : 'file' },
    { name: 'window', value: window ?? 'by model', from: window === undefined ? 'default' : 'file' },
    place('store', config.store, defaultStore()),
    place('artifacts', config.artifacts, 'beside the store'),
    summarizerSetting(config.summarizer),
    { name: 'budgets', value: config.budgets ?? 'none', from: fromOf(config.budgets) },
    { name: 'models', value: config.models ?? 'as catalogued', from: fromOf(config.models) },
    ...leaves(policy)
      .filter(([name]) => name !== 'name')
      .map(([name, value]): Setting => {
        const inEnvironment = withEnvironment.get(name)
        const from = value !== inEnvironment ? 'file' : inEnvironment !== preset.get(name) ? 'environment' : 'preset'
        return { name: `policy.${name}`, value, from }
      }),
  ]
}

/** Whether the key is there, never what it is. */
function summarizerSetting(given: Config['summarizer']): Setting {
  if (given === undefined) return { name: 'summarizer', value: 'by code alone', from: 'default' }
  const { apiKeyEnv } = given
  const isSet = apiKeyEnv !== undefined && (process.env[apiKeyEnv] ?? '') !== ''
  const value = { ...given, ...(apiKeyEnv !== undefined && { apiKey: isSet ? 'set' : 'unset' }) }
  return { name: 'summarizer', value: withoutSecrets(value), from: 'file' }
}

const fromOf = (given: unknown): 'file' | 'default' => (given === undefined ? 'default' : 'file')

const place = (name: string, given: string | undefined, fallback: string): Setting => {
  const byHome = name === 'store' && process.env['PLIMSOLL_HOME'] !== undefined
  return {
    name,
    value: withoutPassword(given ?? fallback),
    from: given !== undefined ? 'file' : byHome ? 'environment' : 'default',
  }
}

/** `water.high`, `cascade.0.step` and so on, with their values as text that can be compared. */
function leaves(value: unknown, path = ''): readonly (readonly [name: string, value: string | number | boolean])[] {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return [[path, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`))
}

const PROXY_DEFAULTS: Readonly<Record<string, unknown>> = {
  port: 4141,
  host: '127.0.0.1',
  policy: 'plimsoll',
  window: 'by model',
  observe: false,
  tools: true,
  artifacts: 'beside the store',
  maxBodyBytes: 64 * 2 ** 20,
}

export function proxySettings(config: Config): readonly Setting[] {
  const caFile = process.env['PLIMSOLL_CA_FILE']
  const flags: ProxyFlags = caFile === undefined ? {} : { caFile }
  const merged: Readonly<Record<string, unknown>> = {
    store: defaultStore(),
    ...PROXY_DEFAULTS,
    // The policy by its name; `plimsoll config` shows its numbers.
    ...plainSettingsOf(flags, config),
  }
  return [
    ...Object.entries(merged).map(([name, value]): Setting => {
      const byHome = name === 'store' && config.store === undefined && process.env['PLIMSOLL_HOME'] !== undefined
      const inEnvironment = byHome || (name === 'caFile' && caFile !== undefined)
      const from = inEnvironment ? 'environment' : name in config ? 'file' : 'default'
      return { name, value: withoutSecrets(value), from }
    }),
    summarizerSetting(config.summarizer),
  ]
}

/** A report gets pasted into issues: no passwords, no keys, no header values. */
function withoutSecrets(value: unknown): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'headers') return Object.keys(inner as object)
    return typeof inner === 'string' ? withoutPassword(inner) : inner
  })
  return JSON.parse(text) as unknown
}

const PROXY_KEYS = ['port', 'host', 'upstreams', 'observe', 'tools', 'caFile', 'maxBodyBytes', 'memoryBytes'] as const

/** Whether a file was written for the proxy. */
export const isForProxy = (config: Config): boolean => PROXY_KEYS.some((key) => config[key] !== undefined)
