import { loadConfig, optionsOf, policyOf, type Config } from '../../settings/index.ts'
import { policies } from '../../engine/presets/index.ts'
import type { ChatSettings } from './chat.ts'

/** The settings of a chat. Flags override the file, the file overrides the defaults. */
export interface FileSettings extends ChatSettings {
  readonly policy: string
  readonly window?: number
  readonly store?: string
  readonly artifacts?: string
  readonly instructions: NonNullable<Config['instructions']>
}

/** A chat uses the file's settings for the agent `main`. */
export async function readSettings(flags: Partial<FileSettings> & { readonly config?: string }): Promise<FileSettings> {
  const file: Config = flags.config === undefined ? {} : await loadConfig(flags.config)
  const { agents, ...shared } = file
  const { policy: ownPolicy, ...own } = agents?.['main'] ?? {}
  const policy = flags.policy ?? ownPolicy ?? file.policy ?? 'plimsoll'
  const configOf = (name: string): Config => ({ ...shared, policy: name, agents: { main: own } })
  const options = optionsOf(configOf(policy))
  const window = flags.window ?? own.window ?? options.window
  const store = flags.store ?? options.store
  const artifacts = flags.artifacts ?? options.artifacts
  return {
    policy,
    policyOf: (name) => policyOf(configOf(name)),
    instructions: file.instructions ?? {},
    policyNames: [...policies.keys(), ...Object.keys(file.policies ?? {})],
    summarizer: options.summarizer,
    models: options.models,
    redact: flags.redact ?? options.redact ?? false,
    budgets: options.budgets,
    window,
    store,
    artifacts,
  }
}
