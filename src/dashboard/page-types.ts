import type { Receipt } from '../core/records.ts'
import type { Usage } from '../core/usage.ts'
import type { LearnedEntry } from '../engine/learning/learned-limits.ts'
import type { CredentialQuota } from '../formats/quota.ts'
import type { CallRow, CompactionRow, RemovalRow, SessionFigures, TroubleRow } from '../meter/session/figures.ts'
import type { SessionInfo } from '../ports/session-store.ts'
import type { StackedPart } from './stacked-parts.ts'

/* The page's API as JSON. Types only, because the browser's code imports this file. */

/** A session of the list; its figures are absent until its log was read. */
export interface SessionRow extends SessionInfo {
  readonly tenant: string
  readonly figures?: SessionSummary
}

/** A page of the list. `read`: sessions whose figures are known; filters and totals count those only. */
export interface SessionList {
  readonly total: number
  readonly read: number
  readonly matched: number
  readonly rows: readonly SessionRow[]
  readonly totals: {
    readonly calls: number
    readonly costUsd: number
    readonly unpriced: number
    readonly savedUsd: number
  }
  /** Recorded files that could not be read, one sentence each. */
  readonly unreadable: readonly string[]
}

/** A recording that is re-run: nothing was billed. */
export interface ReplayState {
  readonly policy: string
  readonly window: number
  /** Calls that were replayed, of those that are recorded. */
  readonly done: number
  readonly total: number
}

export interface SessionSummary extends SessionFigures {
  readonly tenant: string
  readonly session: string
  /** The version of the log that the figures were computed from. */
  readonly version: number
  readonly replay?: ReplayState
  /** The verdict of the last request, where this process saw it. */
  readonly verdict?: string
  /** Largest prompts of equal stretches of the session, as shares of the limit. */
  readonly spark: readonly number[]
}

/** A session without its calls and texts. */
export interface SessionPage extends SessionSummary {
  readonly startedAt: number
  readonly updatedAt: number
  readonly compactionList: readonly CompactionRow[]
  readonly troubles: readonly TroubleRow[]
  readonly removals: number
  readonly pins: readonly string[]
  readonly items: number
  readonly policies: readonly string[]
}

/** Calls of agents from one on, column by column: what charts draw. */
export interface Series {
  readonly calls: readonly number[]
  /** Place in the session's list of agents. */
  readonly agents: readonly number[]
  readonly sent: readonly number[]
  readonly measured: readonly boolean[]
  readonly whole: readonly number[]
  readonly limit: readonly (number | null)[]
  readonly window: readonly (number | null)[]
  readonly high: readonly (number | null)[]
  readonly low: readonly (number | null)[]
  readonly cached: readonly (number | null)[]
  /** Dollars that a cache miss cost, and its cause. */
  readonly missed: readonly (readonly [usd: number, cause: string] | null)[]
  /** Tokens of each prompt by kind of content; their sum is `sent`. */
  readonly parts: Readonly<Record<string, readonly number[]>>
}

/** Rows in pages, newest first. */
export interface Rows<T> {
  readonly total: number
  readonly from: number
  readonly rows: readonly T[]
}
export type CallRows = Rows<CallRow>
export type RemovalRows = Rows<RemovalRow>

/** One compaction with what it took out. */
export interface CompactionPage extends CompactionRow {
  /** The record that the model reads instead. */
  readonly record: string
  readonly receipt?: Receipt
  /** Tokens by kind of content in the call before it and in the first one after it. */
  readonly bars: readonly { readonly name: string; readonly before: number; readonly after: number }[]
  /** The largest of what it took out; `named`: the record still says what it was. */
  readonly left: readonly (RemovalRow & {
    readonly tokens: number
    readonly target?: string
    readonly named: boolean
  })[]
  /** Calls since. */
  readonly callsSince: number
}

export interface HiddenRow {
  readonly at: number
  readonly agent: string
  readonly tool: string
  readonly asked: string
  /** The beginning of the answer. */
  readonly answered?: string
  /** Identity of the answer's item. */
  readonly identity?: string
}

/** An item of the client's conversation, and what is sent of it. */
export interface ConversationRow {
  readonly identity: string
  readonly place: number
  readonly kind: string
  readonly tool?: string
  readonly tokens: number
  readonly characters: number
  /** The beginning of its text. */
  readonly text: string
  readonly fate: 'sent' | 'left out' | 'replaced' | 'shortened'
  /** The beginning of the text that is sent instead. */
  readonly shown?: string
  readonly reason?: string
  readonly handle?: string
  readonly pinned: boolean
}

/** Text that a compaction inserts at a position of the conversation. */
export interface InsertedRow {
  readonly place: number
  readonly role: string
  readonly text: string
  readonly reason: string
}

export interface ConversationPage {
  readonly agent: string
  readonly epoch?: string
  readonly total: number
  readonly from: number
  readonly rows: readonly ConversationRow[]
  readonly inserted: readonly InsertedRow[]
}

export interface SpendingRow {
  readonly name: string
  readonly calls: number
  readonly usage: Usage
  readonly costUsd: number
  /** Calls whose price is not known; `costUsd` is without them. */
  readonly unpriced: number
}

export interface SpendingPage {
  readonly byDay: readonly SpendingRow[]
  readonly byModel: readonly SpendingRow[]
  readonly byAgent: readonly SpendingRow[]
  readonly byKey: readonly SpendingRow[]
  readonly total: Omit<SpendingRow, 'name'>
  readonly sessions: number
  /** How much of their providers' windows credentials have used, by the newest answers. */
  readonly quotas: readonly CredentialQuota[]
  /** Models without a known price: a budget in dollars does not hold their calls. */
  readonly unpricedModels: readonly string[]
  readonly budgets: readonly {
    readonly name: string
    readonly used: number
    readonly of: number
    readonly unit: string
  }[]
}

export interface MeterRow {
  readonly model: string
  readonly calls: number
  /** Provider's count ÷ our raw estimate: the median, and the range of nine in ten calls. */
  readonly ratio: { readonly low: number; readonly median: number; readonly high: number }
}

/** Passages that a search found in one message, call or result. */
export interface FoundRow {
  readonly tenant: string
  readonly session: string
  readonly kind: string
  readonly tool: string | undefined
  readonly at: number | undefined
  readonly excerpt: string
}

export interface LearnedRow extends LearnedEntry {
  readonly id: string
}

export interface PolicyRow {
  readonly name: string
  readonly value: unknown
  readonly from: string
}

export interface DashboardInfo {
  readonly version: string
  readonly source: 'proxy' | 'store' | 'files'
  /** Base URLs to point an agent at; empty without a proxy. */
  readonly connect: readonly { readonly name: string; readonly value: string }[]
  readonly store: string
}

/** A report in a single HTML file, as written by `inspect --html` and `replay --html`. */
export interface Report {
  readonly title: string
  readonly heading: string
  readonly sections: readonly ReportSection[]
}

export interface ReportSection {
  readonly title: string
  readonly about: string
  readonly figures?: readonly ReportFigure[]
  readonly said?: string
  readonly parts: readonly ReportPart[]
}

export type ReportFigure = readonly [name: string, value: string]

export type ReportPart = { readonly title: string } & (
  | LoadPart
  | { readonly kind: 'composition'; readonly parts: readonly StackedPart[] }
  | { readonly kind: 'figures'; readonly figures: readonly ReportFigure[] }
  | { readonly kind: 'bars'; readonly rows: readonly ReportBar[] }
  | ReportTable
  | { readonly kind: 'texts'; readonly texts: readonly ReportText[] }
  | { readonly kind: 'lines'; readonly lines: readonly ReportLine[] }
)

/** Tokens of each call's prompt. */
export interface LoadPart {
  readonly kind: 'load'
  readonly label: string
  readonly sent: readonly number[]
  /** The prompts without any compaction. */
  readonly whole?: readonly number[]
  readonly line?: { readonly name: string; readonly value: number }
  /** Where compaction starts and what it aims at. */
  readonly thresholds?: { readonly high: readonly number[]; readonly low: readonly number[] }
  /** Numbers of the calls right after a compaction, from 1. */
  readonly marks: readonly number[]
}

export interface ReportBar {
  readonly name: string
  readonly value: number
  readonly label: string
}

export interface ReportTable {
  readonly kind: 'table'
  readonly heads: readonly string[]
  readonly rows: readonly (readonly (string | number)[])[]
}

export interface ReportLine {
  readonly text: string
  readonly state?: 'good' | 'bad'
}

export interface ReportText {
  readonly title: string
  readonly about: string
  readonly text: string
}
