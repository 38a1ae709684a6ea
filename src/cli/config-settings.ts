import { withoutPassword } from '../drivers/open-store.ts'
import { policyOf, windowOf, type Config } from '../settings/index.ts'
import { FILES, GATEWAY, LIBRARY, PROXY, SETTINGS, those, type Setting } from '../settings/settings.ts'
import { policyNamed } from '../engine/presets/index.ts'
import type { Command } from 'commander'
import { optionsFor, plainSettingsOf, type ProxyFlags } from './proxy-options.ts'
import { defaultStore } from '../plimsoll.ts'

export interface Shown {
  readonly name: string
  readonly value: unknown
  readonly from: 'command line' | 'environment' | 'file' | 'preset' | 'default'
}

/** The policy in effect, number by number. */
export function policySettings(config: Config, agent: string): readonly Shown[] {
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
      .map(([name, value]): Shown => {
        const inEnvironment = withEnvironment.get(name)
        const from = value !== inEnvironment ? 'file' : inEnvironment !== preset.get(name) ? 'environment' : 'preset'
        return { name: `policy.${name}`, value, from }
      }),
  ]
}

/** Says whether the key is set, and never shows it. */
function summarizerSetting(given: Config['summarizer']): Shown {
  if (given === undefined) return { name: 'summarizer', value: 'by code alone', from: 'default' }
  const { apiKeyEnv } = given
  const isSet = apiKeyEnv !== undefined && (process.env[apiKeyEnv] ?? '') !== ''
  const value = { ...given, apiKey: apiKeyEnv === undefined ? undefined : isSet ? 'set' : 'unset' }
  return { name: 'summarizer', value: withoutSecrets(value), from: 'file' }
}

const fromOf = (given: unknown): 'file' | 'default' => (given === undefined ? 'default' : 'file')

const place = (name: string, given: string | undefined, fallback: string): Shown => {
  const from = given !== undefined ? 'file' : name === 'store' && isHomeSet() ? 'environment' : 'default'
  return { name, value: withoutPassword(given ?? fallback), from }
}

const isHomeSet = (): boolean => process.env['PLIMSOLL_HOME'] !== undefined

/** Flattens a value to names such as `water.high` and `cascade.0.step`, with values as comparable text. */
function leaves(value: unknown, path = ''): readonly (readonly [name: string, value: string | number | boolean])[] {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return [[path, value]]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === '' ? key : `${path}.${key}`))
}

/** Settings that are listed with their default when they are not set. */
const DEFAULTS = Object.fromEntries(
  Object.entries<Setting>({ ...LIBRARY, ...GATEWAY, ...PROXY, workers: FILES.workers }).flatMap(([name, { where }]) =>
    where.default === undefined ? [] : [[name, where.default]],
  ),
)

/** `flags`: what was given on the command line or by a variable, by setting, and where it came from. */
export function proxySettings(
  config: Config,
  flags: ProxyFlags = {},
  sourceOf: SourceOf = () => undefined,
): readonly Shown[] {
  const caFile = process.env['PLIMSOLL_CA_FILE']
  const merged: Readonly<Record<string, unknown>> = {
    ...DEFAULTS,
    store: defaultStore(),
    // The policy's name only; `plimsoll config` shows its numbers.
    ...plainSettingsOf(caFile === undefined ? flags : { caFile, ...flags }, config),
    summarizer: undefined,
  }
  const rows = Object.entries(merged).filter(([name, value]) => value !== undefined && !SECRET.has(name))
  return [
    ...rows.map(([name, value]): Shown => {
      const inEnvironment =
        name === 'store' ? config.store === undefined && isHomeSet() : name === 'caFile' && caFile !== undefined
      const from = sourceOf(name) ?? (inEnvironment ? 'environment' : name in config ? 'file' : 'default')
      return { name, value: withoutSecrets(value), from }
    }),
    summarizerSetting(config.summarizer),
  ]
}

/** Where a setting's value came from, if not from the file. */
export type SourceOf = (setting: string) => Extract<Shown['from'], 'command line' | 'environment'> | undefined

/** As Commander knows it. */
export const sourceIn =
  (command: Pick<Command, 'getOptionValueSource'>): SourceOf =>
  (name) => {
    const setting = SETTINGS[name as keyof typeof SETTINGS] as Setting | undefined
    const attributes =
      setting === undefined ? [name] : optionsFor({ [name]: setting }).map((option) => option.attributeName())
    const sources = attributes.map((attribute) => command.getOptionValueSource(attribute))
    return sources.includes('cli') ? 'command line' : sources.includes('env') ? 'environment' : undefined
  }

const SECRET: ReadonlySet<string> = new Set(['token', 'operatorToken'])

/** Removes passwords, keys and header values, because reports are pasted into issues. */
function withoutSecrets(value: unknown): unknown {
  const text = JSON.stringify(value, (key, inner: unknown) => {
    if (key === 'headers') return Object.keys(inner as object)
    return typeof inner === 'string' ? withoutPassword(inner) : inner
  })
  return JSON.parse(text) as unknown
}

/** Whether a file contains settings of the proxy. */
export const isForProxy = (config: Config): boolean =>
  Object.keys(those({ ...GATEWAY, ...PROXY, workers: FILES.workers, memoryBytes: LIBRARY.memoryBytes }, config))
    .length > 0
