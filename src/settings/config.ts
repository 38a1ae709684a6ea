import type { LogLevel } from '../core/events.ts'
import type { Policy, SummaryRule, ToolBudgetRule } from '../core/policy.ts'
import type { PriceModel } from '../core/price.ts'
import type { BudgetScope } from '../meter/index.ts'
import type { UpstreamConfig } from './upstreams.ts'

/** A config file, validated. */
export interface Config {
  readonly policy?: string
  readonly window?: number
  readonly store?: string
  readonly artifacts?: string
  readonly logFile?: string
  /** Events from this level on go to standard error. */
  readonly logLevel?: LogLevel
  readonly summarizer?: SummarizerConfig
  readonly budgets?: readonly BudgetConfig[]
  readonly models?: Readonly<Record<string, KnownModel>>
  readonly override?: Override
  readonly policies?: Readonly<Record<string, { readonly extends?: string; readonly override?: Override }>>
  readonly agents?: Readonly<
    Record<string, { readonly policy?: string; readonly window?: number; readonly override?: Override }>
  >
  readonly providers?: Readonly<Record<string, ProviderConfig>>
  readonly defaults?: DefaultsConfig
  /** proxy: by path prefix, in the order in which they are tried. */
  readonly upstreams?: Readonly<Record<string, readonly UpstreamConfig[]>>
  readonly port?: number
  readonly host?: string
  readonly observe?: boolean
  readonly tools?: boolean
  readonly maxBodyBytes?: number
  readonly memoryBytes?: number
  readonly caFile?: string
  /** proxy: `credential`, `one` or `header:<name>`. */
  readonly tenants?: string
  readonly allowedHosts?: readonly string[]
  readonly allowedOrigins?: readonly string[]
  /** Secrets are taken out of what is stored. */
  readonly redact?: boolean
  readonly workers?: number
  readonly drainMs?: number
  readonly requestTimeoutMs?: number
  readonly upstreamTimeoutMs?: number
  readonly upstreamIdleMs?: number
  readonly instructions?: { readonly trustProject?: boolean; readonly globalDir?: string; readonly maxBytes?: number }
}

export interface SummarizerConfig {
  readonly format?: string
  readonly model?: string
  readonly baseUrl?: string
  readonly apiKeyEnv?: string
  readonly window?: number
}

/** Exactly one of `usd` and `tokens`. */
export interface BudgetConfig {
  readonly name?: string
  /** @default 'session' */
  readonly scope?: BudgetScope
  readonly usd?: number
  readonly tokens?: number
  readonly warn?: number
  readonly closing?: number
}

/** A user's own word on a model. */
export interface KnownModel {
  readonly window?: number
  readonly inputLimit?: number
  readonly maxOutputTokens?: number
  readonly tokenizer?: string
  readonly price?: PriceModel
}

export interface ModelConfig {
  readonly contextWindow?: number
  readonly contextWindowBufferTokens?: number
  readonly maxOutputTokens?: number
  readonly tokenizer?: string
}

export interface ProviderConfig extends Pick<ModelConfig, 'contextWindow' | 'contextWindowBufferTokens'> {
  readonly models?: Readonly<Record<string, ModelConfig>>
}

export interface DefaultsConfig extends Pick<
  ModelConfig,
  'contextWindow' | 'contextWindowBufferTokens' | 'maxOutputTokens'
> {
  readonly toolResponseMaxBytes?: number
  readonly toolsAllowed?: readonly string[]
  readonly toolsDenied?: readonly string[]
}

/** Numbers that replace a policy's own. */
export interface Override {
  readonly water?: Partial<Policy['water']>
  readonly buffer?: Partial<Policy['buffer']>
  readonly intake?: Partial<Pick<Policy['intake'], 'maxShare' | 'previewShare'>>
  readonly budget?: ToolBudgetRule
  readonly retention?: Partial<NonNullable<Policy['retention']>>
  readonly native?: Policy['native']
  readonly guard?: Readonly<Record<string, number>>
  readonly estimator?: { readonly defaultFactor?: number }
  readonly caution?: number
  readonly defaultWindow?: number
  readonly tokenBudget?: number
  readonly passes?: number
  readonly timeMs?: number
  readonly summaries?: SummaryRule
  readonly steps?: Readonly<Record<string, Readonly<Record<string, number>>>>
}
