import { InvalidArgumentError, Option, type Command } from 'commander'
import { readConfig, type Config } from '../settings/index.ts'
import { proxyConfig, proxyPolicies, type ProxyConfig } from '../settings/apply.ts'
import { endpoints } from '../formats/endpoints.ts'
import { getDescription } from 'valibot'
import { isRecord } from '../core/values.ts'
import { PROXY, SETTINGS, type Flag, type Setting, type Settings } from '../settings/settings.ts'
import type { Schema } from '../settings/values.ts'
import { parts } from '../util/json-schema.ts'
import type { ProxySettings } from './open-proxy.ts'
import { reading } from './option-values.ts'

/** The parsed options of the command line, by their attribute names. */
export interface ProxyFlags extends Readonly<Record<string, unknown>> {
  readonly config?: string
  readonly policy?: string
  readonly json?: boolean
}

/** Flags of the server only: `run` chooses its own port. */
const OF_SERVER = ['port', 'host', 'workers']

/** Adds the options that `proxy` and `run` share; with `isServer`, also those of the server itself. */
export function addProxyOptions(command: Command, isServer = false): Command {
  // The address and port come first in the help.
  const wanted = Object.entries<Setting>({ ...PROXY, ...SETTINGS }).filter(
    ([name]) => isServer || !OF_SERVER.includes(name),
  )
  for (const option of optionsFor(Object.fromEntries(wanted))) command.addOption(option)
  return command.option(
    '--config <file>',
    'settings file, YAML or JSON; options on the command line win; read again on SIGHUP',
  )
}

/** Commander's options for settings. */
export const optionsFor = (settings: Settings): readonly Option[] =>
  Object.values(settings).flatMap((setting) => flagsOf(setting).map((flag) => optionOf(setting, flag)))

/** The values of flags and variables, by setting. */
export function settingsIn(
  flags: Readonly<Record<string, unknown>>,
  settings: Settings,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(settings)) {
    const options = flagsOf(setting).map((flag) => optionOf(setting, flag))
    for (const option of options) {
      const value = flags[option.attributeName()]
      // Commander sets true when `--no-tools` is absent; then the file decides.
      if (value !== undefined && !(option.negate && value === true)) found[name] = joined(found[name], value)
    }
    // Commander itself reads the variable of a setting that has a flag.
    const variable = options.length > 0 ? '' : (env[setting.where.env ?? ''] ?? '')
    if (variable !== '') found[name] = reading(textSchema(setting))(variable)
  }
  return found
}

const flagsOf = ({ where: { flag = [] } }: Setting): readonly (string | Flag)[] =>
  typeof flag === 'string' ? [flag] : flag

const textSchema = ({ code, where: { file } }: Setting): Schema => (file === undefined || file === false ? code : file)

function optionOf(setting: Setting, given: string | Flag): Option {
  const schema = textSchema(setting)
  const { flag, about, read, expected } = typeof given === 'string' ? { flag: given, about: aboutOf(setting) } : given
  const option = new Option(flag, about)
  if (setting.where.env !== undefined) option.env(setting.where.env)
  // Commander does not count `--no-tools` among the boolean ones.
  if (option.isBoolean() || option.negate) return option
  const known = parts(schema)
  const repeats = known.type === 'array'
  const readOne = read ?? (repeats ? (text: string) => [reading(known.item)(text)] : reading(schema))
  return option.argParser((text: string, before: unknown) => {
    const value = readOne(text)
    if (value === undefined) throw new InvalidArgumentError(`It should be ${expected}.`)
    return repeats || read !== undefined ? joined(before, value) : value
  })
}

function aboutOf(setting: Setting): string {
  const sentence = getDescription(textSchema(setting)) ?? ''
  const { default: fallback } = setting.where
  // Help texts begin in lower case, unless the first word is an abbreviation such as PEM.
  const about = /^[A-Z][a-z]/.test(sentence) ? sentence[0]!.toLowerCase() + sentence.slice(1) : sentence
  return fallback === undefined || typeof fallback === 'boolean' ? about : `${about} (default: ${fallback})`
}

/** Combines repeated flags: lists, and lists by name. */
function joined(before: unknown, value: unknown): unknown {
  if (Array.isArray(before) && Array.isArray(value)) return [...(before as unknown[]), ...(value as unknown[])]
  if (!isRecord(before) || !isRecord(value)) return value
  const own = Object.entries(value).map(([name, one]) => [name, joined(before[name], one)])
  return { ...before, ...Object.fromEntries(own) }
}

/** The vendors' own URLs by prefix. */
const VENDORS: Readonly<Record<string, string>> = Object.fromEntries(
  endpoints.map(({ name, url, isLocal, base }) => [
    name,
    (isLocal ? undefined : base?.(process.env, undefined)) ?? url,
  ]),
)

/** Flags override the file, the file overrides the defaults. */
export function settingsOf(flags: ProxyFlags): ProxySettings {
  if (flags.config === undefined) return plainSettingsOf(flags, {})
  const config = readConfig(flags.config)
  return { ...plainSettingsOf(flags, config), ...proxyPolicies(config, flags.policy) }
}

/** The same, without settings that need a resolved policy or a summarizer's key. */
export function plainSettingsOf(flags: ProxyFlags, config: Config): ProxySettings {
  const file = proxyConfig(config)
  const { upstreams, ...given } = settingsIn(flags, SETTINGS) as ProxyConfig
  return { ...file, ...given, upstreams: { ...VENDORS, ...file.upstreams, ...upstreams } }
}
