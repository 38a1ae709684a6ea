import type { LogLevel } from '../core/events.ts'
import { PlimsollError } from '../core/errors.ts'
import type { ModelRule, Policy, ToolBudgetRule } from '../core/policy.ts'
import type { Budget } from '../meter/index.ts'
import { policyNamed } from '../engine/presets/index.ts'
import type { Environment } from '../engine/presets/shared.ts'
import { budgetsOf } from './budgets.ts'
import type { Config, DefaultsConfig, KnownModel, ModelConfig, Override, SummarizerConfig } from './config.ts'

/** The policy of an agent: its preset, the policy's override, the file's, the agent's; the last one wins. */
export function policyOf(config: Config, agent = 'main', env: Environment = process.env): Policy {
  const own = config.agents?.[agent]
  const name = own?.policy ?? policyNameOf(config)
  const defined = config.policies?.[name]
  const base =
    defined === undefined ? policyNamed(name, env) : { ...policyNamed(defined.extends ?? 'plimsoll', env), name }
  return [defined?.override, config.override, own?.override].reduce(
    (policy: Policy, override) => (override === undefined ? policy : applyOverride(policy, override)),
    withDefaults(base, config),
  )
}

/** The window of an agent, where the file sets one. */
export const windowOf = (config: Config, agent = 'main'): number | undefined =>
  config.agents?.[agent]?.window ?? config.window

/** The file as options of `createPlimsoll`: policy, window, stores, and what differs by agent. */
export function optionsOf(config: Config, env: Environment = process.env): PlimsollSettings {
  const { window, store, artifacts, logFile, logLevel, budgets, models } = config
  const agents = Object.keys(config.agents ?? {}).map((agent) => {
    const own = config.agents?.[agent]?.window
    return [agent, { policy: policyOf(config, agent, env), ...(own !== undefined && { window: own }) }] as const
  })
  // Asked for by name, whoever asks: what the file says about single agents is not about these.
  const named = Object.keys(config.policies ?? {}).map((name) => [
    name,
    policyOf({ ...config, policy: name, agents: {} }, 'main', env),
  ])
  return {
    policy: policyOf(config, 'main', env),
    ...(named.length > 0 && { policies: Object.fromEntries(named) as Readonly<Record<string, Policy>> }),
    ...(window !== undefined && { window }),
    ...(store !== undefined && { store }),
    ...(artifacts !== undefined && { artifacts }),
    ...(logFile !== undefined && { logFile }),
    ...(logLevel !== undefined && { logLevel }),
    ...(config.summarizer !== undefined && { summarizer: summarizerOf(config.summarizer, env) }),
    ...(agents.length > 0 && { agents: Object.fromEntries(agents) }),
    ...(budgets !== undefined && { budgets: budgetsOf(budgets) }),
    ...(models !== undefined && { models }),
    ...(config.redact !== undefined && { redact: config.redact }),
    ...(config.tenants !== undefined && { tenants: config.tenants }),
  }
}

export interface PlimsollSettings {
  readonly policy: Policy
  /** The file's own, by name. */
  readonly policies?: Readonly<Record<string, Policy>>
  readonly window?: number
  readonly store?: string
  readonly artifacts?: string
  readonly logFile?: string
  readonly logLevel?: LogLevel
  readonly redact?: boolean
  readonly tenants?: string
  readonly summarizer?: SummarizerSettings
  readonly agents?: Readonly<Record<string, { readonly policy: Policy; readonly window?: number }>>
  readonly budgets?: readonly Budget[]
  readonly models?: Readonly<Record<string, KnownModel>>
}

/** A summarizer with its key, which no file should hold. */
export interface SummarizerSettings {
  readonly format: string
  readonly model: string
  readonly baseUrl?: string
  readonly apiKey?: string
  readonly window?: number
}

function summarizerOf(config: SummarizerConfig, env: Environment): SummarizerSettings {
  const { format, model, baseUrl, apiKeyEnv, window } = config
  if (format === undefined || model === undefined)
    throw new PlimsollError('bad-config', 'The summarizer needs a format and a model.')
  const apiKey = apiKeyEnv === undefined ? undefined : env[apiKeyEnv]
  if (apiKeyEnv !== undefined && (apiKey === undefined || apiKey === ''))
    throw new PlimsollError('bad-config', `The summarizer has no key: ${apiKeyEnv} is not set.`)
  return {
    format,
    model,
    ...(baseUrl !== undefined && { baseUrl }),
    ...(apiKey !== undefined && { apiKey }),
    ...(window !== undefined && { window }),
  }
}

/** Whether a file speaks ai-agent's language; without a policy of its own it means that preset. */
const speaksAiAgent = ({ providers, defaults }: Config): boolean => providers !== undefined || defaults !== undefined

/** The policy that a file's own words mean. */
export const policyNameOf = (config: Config): string =>
  config.policy ?? (speaksAiAgent(config) ? 'ai-agent' : 'plimsoll')

/** ai-agent's own keys, in the words of a policy. Models, then providers, then defaults: the first that is defined wins. */
function withDefaults(policy: Policy, { defaults = {}, providers = {} }: Config): Policy {
  const { toolResponseMaxBytes, toolsAllowed, toolsDenied } = defaults
  const tokenizers = Object.values(providers).flatMap(({ models = {} }) =>
    Object.entries(models).flatMap(([model, { tokenizer }]) => (tokenizer === undefined ? [] : [[model, tokenizer]])),
  )
  const { guard } = policy.intake
  const models = rulesOf(defaults, providers)
  return {
    ...policy,
    ...(models.length > 0 && { models }),
    ...(guard !== undefined &&
      toolResponseMaxBytes !== undefined && {
        intake: { ...policy.intake, guard: { ...guard, bytes: toolResponseMaxBytes } },
      }),
    ...(tokenizers.length > 0 && {
      estimator: { ...policy.estimator, tokenizers: Object.fromEntries(tokenizers) as Record<string, string> },
    }),
    ...((toolsAllowed !== undefined || toolsDenied !== undefined) && {
      tools: { ...(toolsAllowed && { allow: toolsAllowed }), ...(toolsDenied && { deny: toolsDenied }) },
    }),
  }
}

function rulesOf(defaults: DefaultsConfig, providers: NonNullable<Config['providers']>): ModelRule[] {
  const named = Object.entries(providers)
  // With one provider in the file, every model is its.
  const owner = (provider: string): Pick<ModelRule, 'provider'> => (named.length === 1 ? {} : { provider })
  return [
    numbersOf(defaults),
    ...named.map(([provider, own]) => ({ ...owner(provider), ...numbersOf(own) })),
    ...named.flatMap(([provider, { models = {} }]) =>
      Object.entries(models).map(([model, own]) => ({ model, ...owner(provider), ...numbersOf(own) })),
    ),
  ].filter((rule) => Object.keys(rule).some((key) => key !== 'model' && key !== 'provider'))
}

function numbersOf({ contextWindow, contextWindowBufferTokens, maxOutputTokens }: ModelConfig): ModelRule {
  return {
    ...(contextWindow !== undefined && { window: contextWindow }),
    ...(contextWindowBufferTokens !== undefined && { bufferTokens: contextWindowBufferTokens }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
  }
}

function applyOverride(policy: Policy, override: Override): Policy {
  const { water, buffer, intake, budget, retention, native, guard, estimator, steps, summaries, ...numbers } = override
  const guarded =
    guard !== undefined && policy.intake.guard !== undefined ? { ...policy.intake.guard, ...guard } : undefined
  return {
    ...policy,
    ...numbers,
    water: { ...policy.water, ...water },
    buffer: { ...policy.buffer, ...buffer },
    intake: {
      ...policy.intake,
      ...intake,
      ...(guarded !== undefined && { guard: guarded }),
      ...(budget !== undefined && { budget: withBudget(policy.intake.budget, budget) }),
    },
    ...(retention !== undefined && { retention: withRetention({ ...policy.retention, ...retention }) }),
    ...(summaries !== undefined && { summaries: { ...policy.summaries, ...summaries } }),
    ...(native !== undefined && { native: { ...policy.native, ...native } }),
    ...(estimator !== undefined && { estimator: { ...policy.estimator, ...estimator } }),
    cascade: policy.cascade.map((step) => ({ ...step, ...steps?.[step.step] })),
  }
}

const withBudget = (base: ToolBudgetRule = {}, own: ToolBudgetRule): ToolBudgetRule => ({
  ...base,
  ...own,
  ...((base.tools !== undefined || own.tools !== undefined) && { tools: { ...base.tools, ...own.tools } }),
})

/** One number alone says both: what stays, and from how many on. */
const withRetention = ({ keep, cleanAt }: NonNullable<Override['retention']>): NonNullable<Policy['retention']> => ({
  keep: keep ?? cleanAt ?? Infinity,
  cleanAt: cleanAt ?? keep ?? Infinity,
})
