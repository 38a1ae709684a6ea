import { PlimsollError } from '../core/errors.ts'
import type { Aim, ModelRule, Policy, ToolBudgetRule } from '../core/policy.ts'
import type { Budget } from '../meter/index.ts'
import { policyNamed } from '../engine/presets/index.ts'
import type { Environment } from '../engine/presets/shared.ts'
import type { Config } from './file.ts'
import type { Override } from './policy.ts'
import type { SummarizerSettings } from '../drivers/open-summarizer.ts'
import { withoutUndefined } from '../util/without-undefined.ts'
import { FILES, GATEWAY, LIBRARY, PROXY, those, type UpstreamConfig, type Upstreams } from './settings.ts'

type Providers = NonNullable<Config['providers']>
type Defaults = NonNullable<Config['defaults']>
type Spending = NonNullable<Config['budgets']>[number]

/** Settings whose form in a file differs from that in code. */
type OwnForm = 'policy' | 'policies' | 'agents' | 'summarizer' | 'budgets'

/** A settings file as options of `createPlimsoll`. */
export interface PlimsollSettings extends Omit<
  Pick<Config, keyof Config & keyof (typeof LIBRARY & typeof GATEWAY)>,
  OwnForm
> {
  readonly policy: Policy
  /** The policies of the file, by name. */
  readonly policies?: Readonly<Record<string, Policy>>
  readonly agents?: Readonly<Record<string, { readonly policy: Policy; readonly aim?: Aim; readonly window?: number }>>
  readonly summarizer?: SummarizerSettings
  readonly budgets?: readonly Budget[]
}

/** The settings of a file for the proxy. */
export interface ProxyConfig extends Omit<
  Config,
  | 'policy'
  | 'policies'
  | 'agents'
  | 'summarizer'
  | 'upstreams'
  | 'override'
  | 'providers'
  | 'defaults'
  | 'instructions'
  | '$schema'
> {
  /** Its name, or the policy with the changes of the file. */
  readonly policy?: string | Policy
  readonly upstreams?: Upstreams
  /** The policies of the file, which requests may ask for by name. */
  readonly policies?: PlimsollSettings['policies']
  /** Settings of single agents, by name. */
  readonly agents?: PlimsollSettings['agents']
  /** The model that writes summaries, with its key from the environment. */
  readonly summarizer?: PlimsollSettings['summarizer']
}

/** The policy of an agent: its preset, changed by the overrides of the named policy, of the file and of the agent; the last one wins. */
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

export const windowOf = (config: Config, agent = 'main'): number | undefined =>
  config.agents?.[agent]?.window ?? config.window

/** A settings file as options of `createPlimsoll`, with policies, agents, summarizer and budgets converted. */
export function optionsOf(config: Config, env: Environment = process.env): PlimsollSettings {
  const agents = Object.entries(config.agents ?? {}).map(
    ([agent, { aim, window }]) => [agent, { policy: policyOf(config, agent, env), aim, window }] as const,
  )
  // Any agent may ask for these by name, so settings of single agents are left out.
  const named = Object.keys(config.policies ?? {}).map(
    (name) => [name, policyOf({ ...config, policy: name, agents: {} }, 'main', env)] as const,
  )
  return withoutUndefined({
    ...those({ ...LIBRARY, ...GATEWAY }, config),
    policy: policyOf(config, 'main', env),
    policies: named.length > 0 ? Object.fromEntries(named) : undefined,
    agents: agents.length > 0 ? Object.fromEntries(agents) : undefined,
    summarizer: config.summarizer && summarizerOf(config.summarizer, env),
    budgets: config.budgets && budgetsOf(config.budgets),
  })
}

/** The proxy's settings, without those that need a resolved policy or a summarizer's key. */
export function proxyConfig(config: Config, env: Environment = process.env): ProxyConfig {
  const { upstreams } = config
  return { ...(those(PLAIN, config) as object as ProxyConfig), upstreams: upstreams && withCredentials(upstreams, env) }
}

/** Settings of the proxy that have the same form in a file. */
const PLAIN = Object.fromEntries(
  Object.entries({ ...LIBRARY, ...GATEWAY, ...PROXY, workers: FILES.workers }).filter(
    ([name]) => !['policies', 'agents', 'summarizer'].includes(name),
  ),
)

/** The policies, agents and summarizer of a file. `policy` wins over the file's policy. */
export function proxyPolicies(
  config: Config,
  policy: string | undefined,
  env: Environment = process.env,
): Pick<ProxyConfig, 'policy' | 'policies' | 'agents' | 'summarizer'> {
  const named = policy ?? config.policy
  const options = optionsOf({ ...config, policy: named }, env)
  const { agents, policies, summarizer } = options
  const own = [config.providers, config.defaults, config.override, config.policies, agents]
  return { policy: own.every((one) => one === undefined) ? named : options.policy, policies, agents, summarizer }
}

/** Converts budgets of a file or a flag. @throws PlimsollError `bad-config` when one has no amount, or two. */
export function budgetsOf(configs: readonly Spending[]): readonly Budget[] {
  return configs.map(({ scope = 'session', usd, tokens, warn, closing, name }): Budget => {
    const hard = usd ?? tokens
    if (hard === undefined || (usd !== undefined && tokens !== undefined)) {
      const which = name === undefined ? '' : `; "${name}" does not have one`
      throw new PlimsollError('bad-config', `A budget needs an amount in usd or in tokens, not both${which}.`, {
        advice: 'Write two budgets to limit both.',
      })
    }
    const unit = usd === undefined ? 'tokens' : 'usd'
    const soft = warn === undefined ? undefined : hard * warn
    return { name: name ?? `${unit} per ${scope}`, scope, unit, hard, soft, finalShare: closing }
  })
}

const withCredentials = (upstreams: NonNullable<Config['upstreams']>, env: Environment): Upstreams =>
  Object.fromEntries(
    Object.entries(upstreams).map(([prefix, several]) => [
      prefix,
      several.map((one): UpstreamConfig =>
        one.headers === undefined ? one : { ...one, headers: resolveHeaders(one.headers, `upstreams.${prefix}`, env) },
      ),
    ]),
  )

/** Replaces `$NAME` by the environment variable, so that credentials need not be in a file. */
function resolveHeaders(
  headers: Readonly<Record<string, string>>,
  where: string,
  env: Environment,
): Record<string, string> {
  const entries = Object.entries(headers).map(([name, value]): [string, string] => {
    const resolved = value.replace(/\$\{?([A-Z][A-Z0-9_]*)\}?/g, (_, variable: string) => {
      const found = env[variable]
      if (found !== undefined) return found
      throw new PlimsollError('bad-config', `${where}.headers.${name} needs the environment variable ${variable}.`)
    })
    return [name.toLowerCase(), resolved]
  })
  return Object.fromEntries(entries)
}

/** A summarizer with its key from the environment. */
function summarizerOf(config: NonNullable<Config['summarizer']>, env: Environment): SummarizerSettings {
  const { format, model, baseUrl, apiKeyEnv, window } = config
  if (format === undefined || model === undefined)
    throw new PlimsollError('bad-config', 'The summarizer needs a format and a model.')
  const apiKey = apiKeyEnv === undefined ? undefined : env[apiKeyEnv]
  if (apiKeyEnv !== undefined && (apiKey === undefined || apiKey === ''))
    throw new PlimsollError('bad-config', `The summarizer has no key: ${apiKeyEnv} is not set.`)
  return { format, model, baseUrl, apiKey, window }
}

/** The policy name of a file. A file with ai-agent's keys means that preset. */
export const policyNameOf = (config: Config): string =>
  config.policy ?? (config.providers !== undefined || config.defaults !== undefined ? 'ai-agent' : 'plimsoll')

/** Converts ai-agent's keys to a policy. Models win over providers, and providers over defaults. */
function withDefaults(policy: Policy, { defaults = {}, providers = {} }: Config): Policy {
  const { toolResponseMaxBytes: maxBytes, toolsAllowed: allow, toolsDenied: deny } = defaults
  const own = Object.entries(providers).flatMap(([provider, { models = {} }]) =>
    Object.entries(models).flatMap(([model, { tokenizer }]) =>
      tokenizer === undefined ? [] : [{ provider, model, tokenizer }],
    ),
  )
  // A model of several providers is told apart by its provider.
  const nameOf = ({ provider, model }: (typeof own)[number]): string =>
    own.filter((one) => one.model === model).length > 1 ? `${provider}/${model}` : model
  const tokenizers = [
    ...(defaults.tokenizer === undefined ? [] : [['*', defaults.tokenizer]]),
    ...own.map((one) => [nameOf(one), one.tokenizer]),
  ]
  const { guard } = policy.intake
  const models = rulesOf(defaults, providers)
  return {
    ...policy,
    ...(models.length > 0 && { models }),
    ...(guard && maxBytes !== undefined && { intake: { ...policy.intake, guard: { ...guard, bytes: maxBytes } } }),
    ...(tokenizers.length > 0 && {
      estimator: { ...policy.estimator, tokenizers: Object.fromEntries(tokenizers) as Record<string, string> },
    }),
    ...((allow !== undefined || deny !== undefined) && { tools: { allow, deny } }),
  }
}

function rulesOf(defaults: Defaults, providers: Providers): ModelRule[] {
  const named = Object.entries(providers)
  return [
    numbersOf(defaults),
    ...named.map(([provider, own]) => ({ provider, ...numbersOf(own) })),
    ...named.flatMap(([provider, { models = {} }]) =>
      Object.entries(models).map(([model, own]) => ({ model, provider, ...numbersOf(own) })),
    ),
  ].filter((rule) => Object.keys(rule).some((key) => key !== 'model' && key !== 'provider'))
}

// Undefined numbers are removed, because the last rule wins number by number.
const numbersOf = ({ contextWindow, contextWindowBufferTokens, maxOutputTokens }: Defaults): ModelRule =>
  withoutUndefined({ window: contextWindow, bufferTokens: contextWindowBufferTokens, maxOutputTokens })

function applyOverride(policy: Policy, override: Override): Policy {
  const { water, buffer, intake, budget, retention, native, guard, estimator, steps, summaries, ...numbers } =
    withoutUndefined(override)
  const own: Readonly<Record<string, object | undefined>> = steps ?? {}
  return {
    ...policy,
    ...numbers,
    water: { ...policy.water, ...water },
    buffer: { ...policy.buffer, ...buffer },
    intake: {
      ...policy.intake,
      ...intake,
      guard: policy.intake.guard && { ...policy.intake.guard, ...guard },
      budget: budget ? withBudget(policy.intake.budget, budget) : policy.intake.budget,
    },
    retention: retention ? withRetention({ ...policy.retention, ...retention }) : policy.retention,
    summaries: summaries ? { ...policy.summaries, ...summaries } : policy.summaries,
    native: native ? { ...policy.native, ...native } : policy.native,
    estimator: estimator ? { ...policy.estimator, ...estimator } : policy.estimator,
    cascade: policy.cascade.map((step) => ({ ...step, ...own[step.step] })),
  }
}

const withBudget = (base: ToolBudgetRule = {}, own: ToolBudgetRule): ToolBudgetRule => ({
  ...base,
  ...own,
  ...((base.tools !== undefined || own.tools !== undefined) && { tools: { ...base.tools, ...own.tools } }),
})

/** One number alone is used for both. */
const withRetention = ({ keep, cleanAt }: NonNullable<Override['retention']>): NonNullable<Policy['retention']> => ({
  keep: keep ?? cleanAt ?? Infinity,
  cleanAt: cleanAt ?? keep ?? Infinity,
})
