import type { Audit, Epoch, UsageSeen } from '../core/records.ts'
import type { Usage } from '../core/usage.ts'
import type { LearnedEntry } from '../engine/learning/learned-limits.ts'
import type { CredentialQuota } from '../formats/quota.ts'
import type { SessionInfo } from '../ports/session-store.ts'
import type { StackedPart } from './stacked-parts.ts'

/* The page's API as JSON. Types only, because the browser's code imports this file. */

/** A row of the list of sessions. Its figures are fetched when the row is in view. */
export interface SessionRow extends SessionInfo {
  readonly tenant: string
}

export interface SessionFigures {
  readonly tenant: string
  readonly session: string
  /** The version of the log that the figures were computed from. */
  readonly version: number
  readonly calls: number
  readonly models: readonly string[]
  readonly agents: readonly string[]
  /** Tokens of the last prompt, measured or else estimated. */
  readonly load: number
  readonly limit: number
  readonly window: number
  readonly compactions: number
  /** Calls that would not have fitted without compaction. */
  readonly overflowsAvoided: number
  /** Shortened results and other cuts. */
  readonly cuts: number
  readonly usage: Usage
  readonly costUsd: number
  /** What calls cost less for us, net. Undefined where a call does not say it. */
  readonly savedUsd?: number
  readonly withoutUsage: number
}

/** The figures of a row, with those that only the process of the session knows. */
export interface RowFigures extends SessionFigures {
  /** The verdict of the last request. */
  readonly verdict?: string
  /** Overflows that were recovered without an error at the client. */
  readonly recovered?: number
}

export interface PageCall extends Omit<UsageSeen, 'measured' | 'hidden' | 'limit'> {
  readonly number: number
  readonly agent: string
  /** Tokens of the prompt by the provider's count, else by our estimate. */
  readonly prompt: number
  readonly isMeasured: boolean
  /** The prompt without any compaction, in tokens. */
  readonly original: number
  readonly limit?: number
  readonly window?: number
  /** Tokens of the prompt by kind of content; their sum is `prompt`. */
  readonly parts: Readonly<Record<string, number>>
}

/** `before` and `after` are upper bounds, like all loads that are compared with the limit. */
export interface PageCompaction extends Omit<Epoch, 'identities' | 'edits'> {
  readonly agent: string
  /** The number of the next call. */
  readonly beforeCall: number
  /** The provider's count of the first request under it. */
  readonly counted?: number
  readonly undone: boolean
  readonly isStanding: boolean
  /** The record that the model reads instead. */
  readonly record: string
  readonly edits: readonly PageEdit[]
  readonly price?: CompactionPrice
}

/** The cost of the prompt before and after a compaction, in dollars; absent without a price. */
export interface CompactionPrice {
  /** A later call without the compaction, read from the provider's cache. */
  readonly before: number
  /** The first call after it, whose prompt is not in the cache yet. */
  readonly once: number
  /** A later call with the compaction, read from the provider's cache. */
  readonly after: number
}

export interface PageEdit {
  readonly op: 'drop' | 'strip' | 'replace' | 'insert'
  readonly from: number
  readonly to: number
  readonly reason: string
  readonly handle?: string
}

/** A session without its texts, which are fetched item by item. */
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
