import type { CacheSeen } from './cache.ts'
import type { Limit, Thresholds } from './target.ts'
import type { Usage } from './usage.ts'

export const RECORD_VERSION = 1

interface Base {
  readonly v: typeof RECORD_VERSION
  /** Milliseconds since 1970, from the engine's clock. */
  readonly at: number
  /** The agent it belongs to. Edits and their audits of 0.2.0 have none; artifacts of such entries open under no agent's scope. */
  readonly agent?: string
}

/** An item that the client sent or the model answered. Logged once per session, agent and form, so that a session needs no other session's log. */
export interface ItemSeen extends Base {
  readonly type: 'item-seen'
  readonly identity: string
  /** The chain hash up to this item where it was first seen; empty for items outside the chain. */
  readonly chain: string
  readonly kind: string
  readonly role: string
  readonly callId?: string
  readonly toolName?: string
  /** Its text, which `recall` searches. Empty for further forms of an item that the log holds already. */
  readonly text: string
  /** The exact wire fragment, byte for byte. */
  readonly fragment: string
}

/** An edit to an item that was never sent before: keyed by call id and identity, permanent, re-applied on every resend. */
export interface FirstSendEdit extends Base {
  readonly type: 'edit'
  readonly key: string
  /** In the place of the item's; behind it where the cause is `recall`. */
  readonly text: string
  readonly reason: string
  /** Of the item's text, where another takes its place. */
  readonly handle?: string
  /** `window`: the result did not fit the window. `recall`: passages out of view that match a message. @default the result's own size */
  readonly cause?: 'window' | 'recall'
  /** The limit at that time, in tokens. */
  readonly limit?: number
}

/** Edits of an epoch name items by their position in the covered chain, which the chain hash fixes. */
export type EpochEdit =
  | { readonly op: 'drop'; readonly from: number; readonly to: number; readonly reason: string }
  /** Removes the reasoning that led to the items in this range; the items stay. (Reasoning is not in the chain.) */
  | { readonly op: 'strip'; readonly from: number; readonly to: number; readonly reason: string }
  | {
      readonly op: 'replace'
      readonly at: number
      readonly text: string
      readonly reason: string
      readonly handle?: string
    }
  | {
      readonly op: 'insert'
      readonly at: number
      readonly role: 'user' | 'assistant'
      readonly text: string
      readonly reason: string
    }

/** One declared rewrite of bytes that were already sent: the summary and what it covers in one log entry. */
export interface Epoch extends Base {
  readonly type: 'epoch'
  readonly id: string
  /**
   * Chain hash of the history that the edits cover. The epoch applies wherever this hash occurs, whatever follows: clients change their last message
   * from turn to turn.
   */
  readonly cover: string
  /** Number of covered chained items. */
  readonly count: number
  /** How many of them the edits cover; fewer than `count` only in old epochs. */
  readonly cut: number
  /** Length and chain hash of the history when the epoch was declared. @default what is covered */
  readonly declaredAt?: { readonly count: number; readonly chain: string }
  /** Identities of the covered items, for alignment when the chain does not match. */
  readonly identities: readonly string[]
  readonly edits: readonly EpochEdit[]
  readonly forced: boolean
  readonly reason: string
  readonly policy: string
  readonly before: number
  readonly after: number
  /** The limit when it was declared. */
  readonly limit?: number
  /** The epoch on the same cover that this one replaces, because it left too much for the limit. */
  readonly replaces?: string
  /** The share of the removed content that the view still contains. Absent in entries of earlier versions. */
  readonly recall?: RecordRecall
  readonly receipt?: Receipt
  /** The number of epochs on consecutive requests, this one included. @default 1 */
  readonly inARow?: number
}

/** Shares of the removed content that the view still contains; 1 when there was nothing to keep. */
export interface RecordRecall {
  /** Names (paths, symbols, numbers, codes) that the model used. */
  readonly names: number
  /** Lines that users wrote, by characters. */
  readonly demands: number
  /** Entries of the plan that are not done. */
  readonly plan: number
  /** Errors of commands that failed when they last ran. */
  readonly errors: number
  /** Files that calls named. */
  readonly paths: number
}

/** What became of what a compaction took out, counted by kind. */
export type Receipt = Readonly<Record<ReceiptKind, ReceiptCounts>>

export type ReceiptKind = 'demands' | 'decisions' | 'errors' | 'files' | 'commands' | 'openItems'

export interface ReceiptCounts {
  /** In view, word for word. */
  readonly retained: number
  /** Not in view, and a tool of the request opens it. */
  readonly recoverable: number
  /** In the archive only. */
  readonly missing: number
  /** In view although something later replaced it. */
  readonly stale: number
}

export interface Undo extends Base {
  readonly type: 'undo'
  readonly epoch: string
}

export interface PinRecord extends Base {
  readonly type: 'pin'
  readonly identity: string
  readonly pinned: boolean
}

/** A user asked for a compaction with the next request. An epoch, or an entry with `refusal`, answers it. */
export interface CompactionAsked extends Base {
  readonly type: 'compaction-asked'
  readonly instructions?: string
  readonly refusal?: string
}

/** Results that calls brought back within 30 answers of the compaction that had taken them out: their tokens, at the price of input. */
export interface FetchedAgain {
  readonly results: number
  readonly tokens: number
  readonly costUsd: number
}

export interface UsageSeen extends Base {
  readonly type: 'usage'
  readonly turn: string
  readonly model: string
  readonly endpoint?: string
  /** Absent when the provider reported none. */
  readonly usage?: Usage
  readonly costUsd?: number
  /** The meter's count for the same request, before calibration. */
  readonly estimated: number
  /** The part of the request that `usage` measures, so that another process can count on from it. */
  readonly measured?: MeasuredRequest
  readonly epoch?: string
  /** What this request brought back of what a compaction had taken out. */
  readonly fetchedAgain?: FetchedAgain & { readonly epoch: string }
  /** The limit at that time, so that another process shortens the next tool result alike. */
  readonly limit?: Limit
  /** The policy's thresholds at that time, for readers of the log. Absent in entries of earlier versions. */
  readonly thresholds?: Thresholds
  /** The request asked for a final answer, because the context was used up. */
  readonly closing?: true
  readonly purpose: 'turn' | 'summary' | 'extract'
  /** Tokens that the client sent and we did not. Absent in entries of earlier versions. */
  readonly removed?: number
  /** What the call cost less for us, in dollars. Absent without a price, and in entries of earlier versions. */
  readonly savedUsd?: number
  /** A further step for a tool of ours, which the client did not ask for. */
  readonly own?: true
  /** What was expected of the provider's cache, and what came of it. Absent without usage. */
  readonly cache?: CacheSeen
  /** The provider's id of the answer. */
  readonly response?: string
  /** From sending the request to the end of its answer. */
  readonly durationMs?: number
  /** Keyed hash of the API key that paid; absent when the tenant pays. */
  readonly key?: string
  /** The server had cut the prompt: `usage` is billed, but does not measure what was sent. */
  readonly cut?: true
  /** The answer contains the provider's own compaction, so the provider no longer holds the history that it counted. */
  readonly compacted?: true
  /** Tokens of the answer's encrypted items, by seal: they cannot be counted when the client sends them back. */
  readonly hidden?: Readonly<Record<string, number>>
}

/**
 * An entry of a budget's account, in a log of its own: the amount reserved before a call, or its cost. A reservation that is never settled keeps
 * counting, since the provider may have billed the call.
 */
export interface Spend extends Base {
  readonly type: 'spend'
  readonly holder: string
  readonly id: string
  readonly held?: number
  readonly spent?: number
  /** The final answer of this budget was used, and the budget at that time. */
  readonly final?: true
  readonly under?: number
}

export interface MeasuredRequest {
  /** Chain hash of its last item: the numbers hold for transcripts that continue from it. */
  readonly chain: string
  readonly items: number
  /** Raw tokens of instructions and tools. */
  readonly standing: number
  /** Raw tokens by content class. */
  readonly byClass: Readonly<Record<string, number>>
  /** Counted with the exact vocabulary; all later requests of the session are too. */
  readonly exact?: true
  /** The provider counted content that the request does not show: history that it holds, or results of its own tools. */
  readonly partial?: true
  /** The request contained only new items; the provider held the others. */
  readonly chained?: true
  /** The count is far below our estimate, which on some servers means a cut prompt. */
  readonly suspect?: true
}

/** A cut, drop or refusal: what, why, how large, and the address of the original. */
export interface Audit extends Base {
  readonly type: 'audit'
  readonly action: string
  readonly reason: string
  readonly identity?: string
  readonly originalBytes: number
  readonly shownBytes: number
  readonly handle?: string
  readonly tool?: string
  readonly callId?: string
  /** Hash of the shown text, so that it is recognised when a request sends it back. */
  readonly view?: string
  /** The window had no room: the tool budget of this agent is exceeded from then on. */
  readonly cause?: 'window'
}

/**
 * A request that was returned to its caller and counts as sent, so that a retry gets the same bytes. Not written when the answer's usage, which says
 * the same, is written together with the request.
 */
export interface RequestSent extends Base {
  readonly type: 'request-sent'
  /** Chain hash of its last item. */
  readonly chain: string
  readonly model: string
  readonly endpoint?: string
  /** The epoch that it was sent under. */
  readonly epoch?: string
  /** The limit at that time, in tokens. */
  readonly limit: number
  /** The request asked for a final answer, because the context was used up. */
  readonly closing?: true
  /** The provider refused it, or it was never sent: it no longer counts as sent. */
  readonly refused?: true
}

/** The meter's calibration when the session began; every process continues from it. */
export interface CalibrationSeed extends Base {
  readonly type: 'calibration'
  readonly state: unknown
}

/** Events of one process for the others that share the store, in a log of its own. */
export interface LiveEventsSent extends Base {
  readonly type: 'live-events'
  readonly sender: string
  readonly events: readonly unknown[]
}

export type LogRecord =
  | CalibrationSeed
  | ItemSeen
  | RequestSent
  | FirstSendEdit
  | Epoch
  | Undo
  | PinRecord
  | CompactionAsked
  | UsageSeen
  | Audit
  | LiveEventsSent
  | Spend
