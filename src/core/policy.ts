import type { PriceModel } from './price.ts'

/**
 * A policy is data: which steps run in which order, with which numbers; the engine interprets it. Shares are of the limit (window - buffer - output
 * reserve), not of the window. A preset adds `design`, its own functions.
 */
export interface Policy {
  readonly name: string
  readonly water: WaterRule
  /** A preset's own functions, of the type `Design` in `engine/presets/design.ts`. The core carries them and never calls them. @default none */
  readonly design?: object
  /** Factor on upper bounds for models that no catalogue knows and no answer has measured. @default 1 */
  readonly caution?: number
  readonly buffer: BufferRule
  readonly intake: IntakeRule
  /** Run in order until the load is at low water; an epoch contains the edits of all of them. */
  readonly cascade: readonly CascadeStep[]
  /** Lets the provider manage the history itself. @default only for histories that it holds anyway */
  readonly native?: NativeRule
  /** Numbers of the preset's own token estimate. @default the preset's */
  readonly estimator?: EstimatorRule
  /** The window of models that the catalogue does not know. @default the catalogue's */
  readonly defaultWindow?: number
  /** Windows, buffers and output caps of single models, over the catalogue. @default none */
  readonly models?: readonly ModelRule[]
  /** Stored outputs that no session references: from `cleanAt` artifacts on, all but the newest `keep` are deleted. @default all stay */
  readonly retention?: { readonly keep: number; readonly cleanAt: number }
  /** Tokens that a session may use; after that one final answer, then none. @default no bound */
  readonly tokenBudget?: number
  /** Prices that the design documents, by the head of a model's id; `default` for the rest. @default the catalogue's */
  readonly prices?: Readonly<Record<string, PriceModel>>
  /** The tools that stay when the tool declarations alone make a request too large, before a final answer is forced. @default all */
  readonly tools?: { readonly allow?: readonly string[]; readonly deny?: readonly string[] }
  /** No request above this share of the window is sent, on any wire. @default the limit alone */
  readonly stop?: number
  /** Tokens reserved for the answer. @default 'request' */
  readonly reserve?: ReserveRule
  /** What is held back for answers of which the client says how long they may be at most: what they needed, and at least this. @default all that it asks for */
  readonly lowerOutput?: LowerOutputRule
  /**
   * What compactions are for. `room`: nothing changes before it must; one that would come within the next calls is made early when the provider's cache is
   * certainly gone. `thrift`: whenever it pays back under the model's cache prices, whatever room there is. @default 'room'
   */
  readonly aim?: Aim
  /** An unforced epoch is declared only when it pays back under the model's cache prices. @default false */
  readonly priceGate?: boolean
  /** Most plans, and most summarizer calls, per compaction. @default 3 */
  readonly passes?: number
  /** A compaction that takes longer continues without a model. @default 30000 */
  readonly timeMs?: number
  /** Of the window, for passages out of view that match a person's new message, behind that message. @default none */
  readonly recallShare?: number
  /** How a model writes summaries, where one is configured. @default out of band, while the request waits */
  readonly summaries?: SummaryRule
}

export const AIMS = ['room', 'thrift'] as const
export type Aim = (typeof AIMS)[number]

/** What one request asks for, over the settings. */
export interface AskedPolicy {
  readonly policy?: string
  readonly aim?: Aim
}

/** Rules for single models. Of several that apply, the last one wins number by number. */
export interface ModelRule {
  /** @default every model */
  readonly model?: string
  /** Only for targets of this provider, where a target names one. @default any */
  readonly provider?: string
  readonly window?: number
  readonly bufferTokens?: number
  readonly maxOutputTokens?: number
}

/** How a model is asked for a summary. The summary written by code is used when the model fails. */
export interface SummaryRule {
  /**
   * `in-band`: the request's own prefix plus one instruction, on its own wire and with its credentials, so that the provider reads its cache; only
   * while that cache is warm and all of it fits. `out-of-band`: the summarizer's own prompt, also used when in-band is not possible. @default
   * 'out-of-band'
   */
  readonly via?: 'in-band' | 'out-of-band'
  /** Calls of a model per reduction: one, and those that repair an answer. @default `passes` */
  readonly calls?: number
  /** From this share of the limit on a summary is written in the background, out of band. @default never */
  readonly backgroundFrom?: number
}

/** Numbers of a preset's own estimate. */
export interface EstimatorRule {
  /** contextguard: factor on the heuristic until usage is known. @default 2.5 */
  readonly defaultFactor?: number
  /** ai-agent: tokenizer ids by model or `provider/model`; `*` for all others. @default none: characters / 4 */
  readonly tokenizers?: Readonly<Record<string, string>>
}

/**
 * `request`: the request's cap, else the model's. `wire`: the request's cap on wires that count it inside the window, else nothing. `quarter`: the
 * request's cap, else the configured one, else a quarter of the window. A number: this share of the window.
 */
export type ReserveRule = 'request' | 'wire' | 'quarter' | number

/** Never below `minTokens`, and never below this share of the request's cap. */
export interface LowerOutputRule {
  readonly minTokens: number
  readonly minShare: number
}

/**
 * Compaction starts when the load is above `high * limit`, and aims at `low * limit`. The load is the preset's own estimate, where it has one, else
 * our upper bound.
 */
export interface WaterRule {
  readonly high: number
  readonly low: number
  /** Share from which a `context-warning` event is sent. */
  readonly warn: number
  /** New tokens, as a share of the limit, that must come before the next unforced epoch, so that it does not repeat in vain. */
  readonly rest: number
  /**
   * `history`: low water is a share of the limit minus instructions and tools, added to them; otherwise long instructions would leave too little for
   * the history. @default 'whole'
   */
  readonly lowOf?: 'whole' | 'history'
  /**
   * The count that low water is compared with. `tokens`: the likely count, so that uncertain counts are not cut deeper. @default 'high', the upper
   * bound
   */
  readonly lowBy?: 'high' | 'tokens'
  /** Upper bounds of high and low water, in tokens. */
  readonly highTokens?: number
  readonly lowTokens?: number
}

/** `fraction` of the window, at least `min`, at most `max` tokens. */
export interface BufferRule {
  readonly fraction: number
  readonly min: number
  readonly max: number
}

/** How a result is shortened before it is sent for the first time. */
export interface IntakeRule {
  /** Results above this share of the limit are shown as preview + handle. */
  readonly maxShare: number
  /** Size of that preview, as a share of the limit. */
  readonly previewShare: number
  /** When the preset's own guard shortens a result, within the shares above. */
  readonly guard?: GuardRule
  /** Tokens that results may use together. @default no bound */
  readonly budget?: ToolBudgetRule
}

/** Tokens that results may use. An absent number means no bound. */
export interface TokenLimits {
  /** Of one turn: the results between two requests to the model. */
  readonly turnTokens?: number
  readonly sessionTokens?: number
}

/**
 * A budget for the results of one turn: small ones stay whole, large ones get equal parts. A result that does not fit is shown as a preview, else as
 * its handle, else as the reason why it is not shown.
 */
export interface ToolBudgetRule extends TokenLimits {
  /** Budget of one turn, as a share of the limit. */
  readonly turnShare?: number
  /** Results use only the free part of the window; one that does not fit ends tool use in the session. @default false */
  readonly withinWindow?: boolean
  /** Additional bounds of single tools. */
  readonly tools?: Readonly<Record<string, TokenLimits>>
  /** Below this size, the handle is shown instead of a preview. @default 200 */
  readonly minPreviewTokens?: number
}

export interface GuardRule {
  /** A result above any of these is large. Absent numbers do not count. */
  readonly items?: number
  readonly chars?: number
  readonly bytes?: number
  readonly lines?: number
  /** What is shown of a text that was stored. @default the preset's own */
  readonly shownChars?: number
  /**
   * Folder, from the working directory, in which each stored output is also a file, whose path the view names. Not with a key for stored data, several
   * tenants, or a driver of the program's own. @default none
   */
  readonly files?: string
  /** AutoSRE: analyses large data; false shows three items, their fields and how to query the rest. @default true */
  readonly sandbox?: boolean
}

/** Steps run in this order. `fold` and `squeeze` belong to the engine, the others to the preset whose document defines them. */
export type CascadeStep = FoldStep | SqueezeStep | OwnStep | FinalStep

/** The numbers of a step that a preset's own function does: `design.steps`. */
export type OwnStep = CompressStep | WindowStep | SummariseStep | EmergencyStep | SqueezeBudgetStep

/** Replaces old steps by one message, the record (docs/handover.md). The newest steps stay whole. */
export interface FoldStep {
  readonly step: 'fold'
  /** Share of the limit for the newest steps that stay whole. */
  readonly tailShare: number
  /** Share of the limit for the record. */
  readonly summaryShare: number
  /** Share of the record that a model writes, if there is one; code writes the rest, facts first. @default 0 */
  readonly modelShare?: number
}

/**
 * Shows the largest remaining items as preview + handle, down to `floorTokens` each. Starts above the share `above` of the limit (default 1) and
 * stops at the share `to`, by default when 5 % of the usable room is free: a shortened item is one that the model is about to read.
 */
export interface SqueezeStep {
  readonly step: 'squeeze'
  readonly floorTokens: number
  readonly above?: number
  readonly to?: number
}

/**
 * The provider's own context management, on Anthropic and OpenAI Responses, as shares of the limit; not used when the client requests its own. Items
 * before the provider's newest compaction are removed from the request, since the provider no longer reads them; the compaction itself stays.
 */
export interface NativeRule {
  /** The provider compacts from here on; Anthropic from 50,000 tokens at the earliest. @default never */
  readonly compactAt?: number
  /** Anthropic clears old tool results from here on. @default never */
  readonly clearToolUsesAt?: number
  /** Newest tool uses that are not cleared. @default 3 */
  readonly keepToolUses?: number
  /** Anthropic clears thinking of all but this many turns. @default it decides */
  readonly keepThinkingTurns?: number
}

/** The messages that a step may change: all but the first and last so many. */
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

/** Cyber-AutoAgent's layer 2: from `size` messages on, the oldest steps are removed whole and archived, and a line says so. */
export interface WindowStep extends Zones {
  readonly step: 'window'
  readonly size: number
  /** Share of `size` that stays. @default 0.9 */
  readonly target?: number
}

/** Replaces a part of the history by one message, written by a model if there is one, else by code. The preset decides which part. */
export interface SummariseStep {
  readonly step: 'summarise'
  /** Newest messages (AutoSRE: events) that stay whole. */
  readonly tail: number
  /** AutoSRE: shorter histories stay as they are. */
  readonly minimum?: number
  /** Most tokens of the summary, in addition to the preset's own share. */
  readonly maxTokens?: number
  /** Cyber-AutoAgent: the oldest share of the messages, */
  readonly scope?: number
  /** above this share of the window. */
  readonly above?: number
}

/**
 * AutoSRE's brake: keeps the first user message and the newest `keep` messages, with bullets for those between. After it, only a squeeze may run that
 * makes the request fit.
 */
export interface EmergencyStep {
  readonly step: 'emergency'
  /** Compared with this step's own estimate. */
  readonly aboveTokens: number
  readonly keep: number
  readonly hardAboveTokens: number
  readonly keepHard: number
  readonly bulletChars: number
  /** Of this step's own estimate. @default 2.5 */
  readonly charsPerToken?: number
}

/** AutoSRE's working context: a squeeze that keeps histories of at least `minimum` items within `tokens`. */
export interface SqueezeBudgetStep {
  readonly step: 'squeeze-budget'
  readonly tokens: number
  readonly minimum: number
  readonly floorTokens: number
}

/** A request that still does not fit is sent as a closing turn: with these tools only, and an instruction to answer now. */
export interface FinalStep {
  readonly step: 'final'
  readonly tools: readonly string[]
  readonly instruction: string
}
