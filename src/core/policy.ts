import type { PriceModel } from './price.ts'

/**
 * A policy is data: which steps run in which order, with which numbers. The engine interprets it; nothing here runs.
 * Shares are of the limit (window - buffer - output reserve), not of the window. A preset adds `design`, the few functions that are its own.
 */
export interface Policy {
  readonly name: string
  readonly water: WaterRule
  /** A preset's own functions, of the type `Design` in `engine/presets/design.ts`. The core carries them and never calls them. @default none */
  readonly design?: object
  /** Upper bounds are multiplied by this on models that no catalogue knows and no answer has measured. @default 1 */
  readonly caution?: number
  readonly buffer: BufferRule
  readonly intake: IntakeRule
  /** Tried in order until the load is at low water; an epoch is the sum of what they propose. */
  readonly cascade: readonly CascadeStep[]
  /** Lets the provider manage the history itself. @default only for histories that it holds anyway */
  readonly native?: NativeRule
  /** Numbers of the preset's own token estimate. @default the preset's */
  readonly estimator?: EstimatorRule
  /** The window of models that the catalogue does not know. @default the catalogue's */
  readonly defaultWindow?: number
  /** Windows, buffers and output caps of single models, over the catalogue. @default none */
  readonly models?: readonly ModelRule[]
  /** Stored outputs that no session references any more: from `cleanAt` artifacts on, the newest `keep` stay. @default all stay */
  readonly retention?: { readonly keep: number; readonly cleanAt: number }
  /** Tokens of a whole session; over it a closing answer, then none. @default no bound */
  readonly tokenBudget?: number
  /** Prices that the design documents, by the head of a model's id; `default` for the rest. @default the catalogue's */
  readonly prices?: Readonly<Record<string, PriceModel>>
  /** Tools that a request keeps when its declarations alone make it too large; before a closing turn is forced. @default all */
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  /** Nothing above this share of the window leaves, on any wire. @default the limit alone */
  readonly stop?: number
  /** What is held back for the answer. @default 'request' */
  readonly reserve?: ReserveRule
  /** May a request's own output cap be lowered before its history is touched, and how far. @default it may not */
  readonly lowerOutput?: LowerOutputRule
  /** An epoch that nothing forces waits until it pays back under the model's cache prices. @default false */
  readonly priceGate?: boolean
  /** Plans, and calls of the summarizer, per reduction. @default 3 */
  readonly passes?: number
  /** A reduction that takes longer goes on without a model. @default 30000 */
  readonly timeMs?: number
  /** How a model writes summaries, where one is at hand. @default out of band, while the request waits */
  readonly summaries?: SummaryRule
}

/** What a policy says about single models. Of several rules that fit, later ones win number by number. */
export interface ModelRule {
  /** @default every model */
  readonly model?: string
  /** Only on targets of this provider, where a target names one. @default any */
  readonly provider?: string
  readonly window?: number
  readonly bufferTokens?: number
  readonly maxOutputTokens?: number
}

/** How a model is asked for a summary; what code wrote serves whenever it does not answer soundly. */
export interface SummaryRule {
  /**
   * `in-band`: the request's own prefix and one instruction more, on its own wire and with its own credentials, so that the provider reads
   * its cache; only while that cache is warm and all of it fits. `out-of-band`: the summarizer's own prompt. Where the first is not
   * possible, the second serves. @default 'out-of-band'
   */
  readonly via?: 'in-band' | 'out-of-band'
  /** Calls of a model per reduction: one, and those that repair an answer. @default `passes` */
  readonly calls?: number
  /** From this share of the limit on a summary is written in the background, out of band. @default never */
  readonly backgroundFrom?: number
}

/** Numbers of a preset's own estimate. */
export interface EstimatorRule {
  /** contextguard: what the heuristic is multiplied by until usage is known. @default 2.5 */
  readonly defaultFactor?: number
  /** ai-agent: tokenizer ids by model; `*` for all others. @default none: characters / 4 */
  readonly tokenizers?: Readonly<Record<string, string>>
}

/**
 * `request`: the request's own cap, else the model's. `wire`: the request's cap on wires that count it inside the window, else
 * nothing. `quarter`: the request's own cap, else the configured one, else a quarter of the window. A number: this share of the window.
 */
export type ReserveRule = 'request' | 'wire' | 'quarter' | number

/** Never below `minTokens`, and never below this share of what was asked for. */
export interface LowerOutputRule {
  readonly minTokens: number
  readonly minShare: number
}

/**
 * Reduction starts when the load is above `high * limit`, and aims at `low * limit`. The load is a preset's own estimate, where it has one, else our
 * upper bound.
 */
export interface WaterRule {
  readonly high: number
  readonly low: number
  /** A `context-warning` event is sent from here on. */
  readonly warn: number
  /** An unforced epoch waits until this share of the limit has come in since the last one, so that it cannot repeat in vain. */
  readonly rest: number
  /**
   * `history`: low water is a share of what instructions and tools leave of the limit, on top of them; else a long prompt would leave
   * no room for what a reduction keeps. @default 'whole'
   */
  readonly lowOf?: 'whole' | 'history'
  /**
   * What low water is counted in. `tokens`: in likely tokens, so that a reduction is as deep where a count is sure as where it is not; the upper
   * bound only decides what has to leave. @default 'high', the upper bound
   */
  readonly lowBy?: 'high' | 'tokens'
  /** High water is never above this many tokens, low water never above that many. */
  readonly highTokens?: number
  readonly lowTokens?: number
}

/** `fraction` of the window, at least `min`, at most `max` tokens. */
export interface BufferRule {
  readonly fraction: number
  readonly min: number
  readonly max: number
}

/** What happens to a result before it is sent for the first time. */
export interface IntakeRule {
  /** Results above this share of the limit are shown as preview + handle. */
  readonly maxShare: number
  /** What such a preview may take, as a share of the limit. */
  readonly previewShare: number
  /** When the preset's own guard shortens a result. The shares above still hold as the upper bound. */
  readonly guard?: GuardRule
  /** What results may take together. @default no bound */
  readonly budget?: ToolBudgetRule
}

/** Tokens that results may take. What is not named has no bound of its own. */
export interface TokenLimits {
  /** Of one turn: the results between two requests to the model. */
  readonly turnTokens?: number
  readonly sessionTokens?: number
}

/**
 * Results of one turn share this: small ones stay whole, large ones get equal parts. What does not fit is shown as a preview, else
 * as its handle, else as the reason why it is not shown.
 */
export interface ToolBudgetRule extends TokenLimits {
  /** The results of one turn, as a share of the limit. */
  readonly turnShare?: number
  /** Results take no more than the window has left: for policies that reduce nothing. A result that does not fit closes the session. @default false */
  readonly withinWindow?: boolean
  /** Bounds of single tools, beside those for all. */
  readonly tools?: Readonly<Record<string, TokenLimits>>
  /** A preview smaller than this says nothing; the handle is shown instead. @default 200 */
  readonly minPreviewTokens?: number
}

export interface GuardRule {
  /** Above any of these a result is large. Absent numbers do not count. */
  readonly items?: number
  readonly chars?: number
  readonly bytes?: number
  readonly lines?: number
  /** What is shown of a text that was stored. @default the preset's own */
  readonly shownChars?: number
  /** AutoSRE: analyses large data; false gives three items, their fields and how to work on the rest. @default true */
  readonly sandbox?: boolean
}

/** Steps run in their order. The engine has the first two itself; the rest are done by functions of the preset whose document asks for them. */
export type CascadeStep = FoldStep | SqueezeStep | OwnStep | FinalStep

/** A step that a preset's own function takes, `design.steps`. What stands here are its numbers. */
export type OwnStep = CompressStep | WindowStep | SummariseStep | EmergencyStep | SqueezeBudgetStep

/** Folds old steps into one message, the record (docs/handover.md). The newest steps stay whole. */
export interface FoldStep {
  readonly step: 'fold'
  /** Share of the limit for the newest steps that stay whole. */
  readonly tailShare: number
  /** Share of the limit for the message that stands for the folded ones. */
  readonly summaryShare: number
  /** Share of that message for a model's own account, where there is a model. The rest is code's, facts first. @default 0 */
  readonly modelShare?: number
}

/**
 * Shows the largest items that are left as preview + handle, down to `floorTokens` each. It acts above the share `above` of the limit
 * (default 1) and goes down to the share `to`, or so far that 5 % of the room to work in is free: shortening what the model is about to read hurts.
 */
export interface SqueezeStep {
  readonly step: 'squeeze'
  readonly floorTokens: number
  readonly above?: number
  readonly to?: number
}

/**
 * The provider's own context management, on Anthropic and OpenAI Responses, as shares of the limit; requests of clients that ask for it themselves stay
 * as they are. What stands before the provider's newest compaction leaves the request, since the provider no longer reads it; the compaction itself is
 * sealed and stays.
 */
export interface NativeRule {
  /** The provider compacts from here on; Anthropic from 50,000 tokens at the earliest. @default never */
  readonly compactAt?: number
  /** Anthropic clears old tool results from here on. @default never */
  readonly clearToolUsesAt?: number
  /** Newest tool uses that it leaves alone. @default 3 */
  readonly keepToolUses?: number
  /** Anthropic clears thinking of all but this many turns. @default it decides */
  readonly keepThinkingTurns?: number
}

/** Which part of the history a step may touch: what stands between the first and the last so many messages. */
export interface Zones {
  /** @default 1 */
  readonly preserveFirst?: number
  readonly preserveLast: number
}

/** Cyber-AutoAgent's layer 1: old results and inputs of at least `fromChars` keep their first `toChars`, JSON its first keys. */
export interface CompressStep extends Zones {
  readonly step: 'compress-results'
  readonly fromChars: number
  readonly toChars: number
}

/** Cyber-AutoAgent's layer 2: from `size` messages on the oldest go, whole steps only. What goes is archived, and a line says so. */
export interface WindowStep extends Zones {
  readonly step: 'window'
  readonly size: number
  /** Goes down to this share of `size`. @default 0.9 */
  readonly target?: number
}

/** One message stands for a part of the history: written by a model where there is one, else by code. Which part, and how, is the preset's. */
export interface SummariseStep {
  readonly step: 'summarise'
  /** Newest messages (AutoSRE: events) that stay whole. */
  readonly tail: number
  /** AutoSRE: shorter histories stay as they are. */
  readonly minimum?: number
  /** Tokens of the summary, beside the preset's own share. */
  readonly maxTokens?: number
  /** Cyber-AutoAgent: the oldest share of the messages, */
  readonly scope?: number
  /** above this share of the window. */
  readonly above?: number
}

/**
 * AutoSRE's brake: the first user message, the newest `keep` messages in full, and bullets for what stood between. Where it acts, only a
 * squeeze that makes the request fit comes after it: one message tells of the middle, not two.
 */
export interface EmergencyStep {
  readonly step: 'emergency'
  /** By its own estimate, strictly above. */
  readonly aboveTokens: number
  readonly keep: number
  readonly hardAboveTokens: number
  readonly keepHard: number
  readonly bulletChars: number
  /** The brake's own estimate. @default 2.5 */
  readonly charsPerToken?: number
}

/** AutoSRE's working context: a squeeze that holds histories of at least `minimum` items within so many tokens. */
export interface SqueezeBudgetStep {
  readonly step: 'squeeze-budget'
  readonly tokens: number
  readonly minimum: number
  readonly floorTokens: number
}

/** A request that still does not fit leaves as a closing turn: these tools only, and an instruction to answer now. */
export interface FinalStep {
  readonly step: 'final'
  readonly tools: readonly string[]
  readonly instruction: string
}
