import type { Audit, Epoch, UsageSeen } from '../core/records.ts'
import type { Usage } from '../core/usage.ts'
import type { LearnedEntry } from '../engine/learning/learned-limits.ts'
import type { SessionInfo } from '../ports/session-store.ts'
import type { StackedPart } from './stacked-parts.ts'

/*
 * What the page reads, as JSON. The browser's code imports these types, so this file has types only.
 */

/** One line of the list of sessions. Figures come with the summary, which is read for the rows in view. */
export interface SessionRow extends SessionInfo {
  readonly tenant: string
}

/** How a session stands, from its log. */
export interface SessionFigures {
  readonly tenant: string
  readonly session: string
  /** The log's version that the figures were read at. */
  readonly version: number
  readonly calls: number
  readonly models: readonly string[]
  readonly agents: readonly string[]
  /** Tokens of the last prompt, as measured or else estimated. */
  readonly load: number
  readonly limit: number
  readonly window: number
  readonly compactions: number
  /** Calls that would not have fitted without compaction. */
  readonly overflowsAvoided: number
  /** Results that were shown in part, and the like. */
  readonly cuts: number
  readonly usage: Usage
  readonly costUsd: number
  /** What sending everything would have cost, less what was paid; summaries are paid for too. Undefined without prices. */
  readonly savedUsd?: number
  readonly withoutUsage: number
}

/** The figures of a row in the list, with what only the process that serves the session knows. */
export interface RowFigures extends SessionFigures {
  /** Of the last request. */
  readonly verdict?: string
  /** Overflows that were recovered without an error for the client. */
  readonly recovered?: number
}

export interface PageCall extends Omit<UsageSeen, 'measured' | 'hidden' | 'limit'> {
  readonly number: number
  readonly agent: string
  /** Tokens of the prompt: as the provider counted them, else our estimate. */
  readonly prompt: number
  readonly isMeasured: boolean
  /** What the prompt would have been without any compaction. */
  readonly original: number
  readonly limit?: number
  readonly window?: number
  /** Tokens of the prompt by what they are; they add up to it. */
  readonly parts: Readonly<Record<string, number>>
}

/** `before` and `after` are upper bounds, as they are compared with the limit. */
export interface PageCompaction extends Omit<Epoch, 'identities' | 'edits'> {
  readonly agent: string
  /** The call that it came before, by number. */
  readonly beforeCall: number
  /** What the provider counted for the first request under it. */
  readonly counted?: number
  readonly undone: boolean
  readonly isStanding: boolean
  /** What the model reads in place of what was taken out. */
  readonly record: string
  readonly edits: readonly PageEdit[]
  readonly price?: CompactionPrice
}

/** What a compaction does to the bill, in dollars of the prompt; absent without a price. */
export interface CompactionPrice {
  /** Each later call, as it would have been: read from the provider's cache. */
  readonly before: number
  /** The call right after it: what it rewrote is not in the cache yet. */
  readonly once: number
  /** Each later call, as it is: read from the provider's cache. */
  readonly after: number
}

export interface PageEdit {
  readonly op: 'drop' | 'strip' | 'replace' | 'insert'
  readonly from: number
  readonly to: number
  readonly reason: string
  readonly handle?: string
}

/** A whole session, texts left out: those come item by item. */
export interface SessionPage extends Omit<SessionFigures, 'cuts'> {
  readonly startedAt: number
  readonly updatedAt: number
  readonly callList: readonly PageCall[]
  readonly compactionList: readonly PageCompaction[]
  readonly cuts: readonly Audit[]
  readonly pins: readonly string[]
  readonly items: number
  readonly policies: readonly string[]
}

/** A call of a tool of ours that the client never saw. */
export interface HiddenRow {
  readonly at: number
  readonly agent: string
  readonly tool: string
  readonly asked: string
  /** What it answered; the beginning of it. */
  readonly answered?: string
  /** Of the answer. */
  readonly identity?: string
}

/** One item of the conversation as the client knows it, and what became of it. */
export interface ConversationRow {
  readonly identity: string
  readonly place: number
  readonly kind: string
  readonly tool?: string
  readonly tokens: number
  readonly characters: number
  /** The beginning of it. */
  readonly text: string
  readonly fate: 'sent' | 'left out' | 'replaced' | 'shortened'
  /** What is sent in its place; the beginning of it. */
  readonly shown?: string
  readonly reason?: string
  readonly handle?: string
  readonly pinned: boolean
}

/** Text of ours that stands in the request at a place of the conversation. */
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
}

export interface SpendingPage {
  readonly byDay: readonly SpendingRow[]
  readonly byModel: readonly SpendingRow[]
  readonly byAgent: readonly SpendingRow[]
  readonly byKey: readonly SpendingRow[]
  readonly total: Omit<SpendingRow, 'name'>
  readonly sessions: number
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
  /** Provider's count ÷ our raw estimate: the middle value, and the range that holds nine of ten calls. */
  readonly ratio: { readonly low: number; readonly median: number; readonly high: number }
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

/** A page that stands alone in a file, as `inspect --html` and `replay --html` write it. */
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
  /** The chart in a sentence. */
  readonly label: string
  readonly sent: readonly number[]
  /** What the prompts would have been without any compaction. */
  readonly whole?: readonly number[]
  readonly line?: { readonly name: string; readonly value: number }
  /** Where compaction starts and what it aims at. */
  readonly thresholds?: { readonly high: readonly number[]; readonly low: readonly number[] }
  /** Calls, from 1, that a compaction came before. */
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
