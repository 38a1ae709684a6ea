import type { Limit, Thresholds } from './target.ts'
import type { Usage } from './usage.ts'

/** Records carry a version from day one. */
export const RECORD_VERSION = 1

interface Base {
  readonly v: typeof RECORD_VERSION
  /** Milliseconds since 1970, from the engine's clock. */
  readonly at: number
  /** Who it belongs to. Logs of 0.2.0 leave it out of edits and their audits; what has none opens under no agent's scope. */
  readonly agent?: string
}

/** Something the client sent or the model answered. Once per session, agent and form, so that a session stands without any other. */
export interface ItemSeen extends Base {
  readonly type: 'item-seen'
  readonly identity: string
  /** The chain hash after this item on the branch where it was first seen. */
  readonly chain: string
  readonly kind: string
  readonly role: string
  readonly callId?: string
  readonly toolName?: string
  /** What a reader would see; searched by `recall`. Empty for a further form of an item that the log holds already. */
  readonly text: string
  /** The wire fragment as it came, byte for byte: the address that gives everything back. */
  readonly fragment: string
}

/** An edit to an item that was never sent before: keyed by call id and identity, permanent, re-applied on every resend. */
export interface FirstSendEdit extends Base {
  readonly type: 'edit'
  readonly key: string
  readonly text: string
  readonly reason: string
  readonly handle: string
  /** `window`: there was no room left for it. @default the result's own size */
  readonly cause?: 'window'
  /** What fitted then. */
  readonly limit?: number
}

/** Edits of an epoch address items by their place in the covered chain, since the chain hash fixes what stands there. */
export type EpochEdit =
  | { readonly op: 'drop'; readonly from: number; readonly to: number; readonly reason: string }
  /** Reasoning stands outside the chain: what led directly to the items in these places goes, the items stay. */
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

/** One declared rewrite of bytes that were already sent: summary and coverage in one record, all or nothing. */
export interface Epoch extends Base {
  readonly type: 'epoch'
  readonly id: string
  /**
   * Chain hash of the history that the edits reach over. The epoch applies exactly where this hash occurs, whatever stands behind it:
   * clients change their last message from turn to turn.
   */
  readonly cover: string
  /** Number of chained items covered. */
  readonly count: number
  /** How many of them the edits reach over; fewer only in epochs that were written before these were all that is covered. */
  readonly cut: number
  /** The history as it stood when the epoch was declared: how long it was, and its chain hash. @default what is covered */
  readonly declaredAt?: { readonly count: number; readonly chain: string }
  /** Identities of the covered items, for alignment when the chain does not match. */
  readonly identities: readonly string[]
  readonly edits: readonly EpochEdit[]
  readonly forced: boolean
  readonly reason: string
  readonly policy: string
  readonly before: number
  readonly after: number
  /** What fitted where it was declared. */
  readonly limit?: number
  /** The epoch on the same cover that this one goes beyond: it left too much for the limit at hand. */
  readonly replaces?: string
  /** What the view still says of what the epoch took out of it. Absent in records of earlier versions. */
  readonly recall?: RecordRecall
  /** How many epochs were declared on requests one after another, this one included. @default 1 */
  readonly inARow?: number
}

/** Shares of what an epoch took out that the view behind it still says; 1 where there was nothing to keep. */
export interface RecordRecall {
  /** Names (paths, symbols, numbers, codes) that the model used. */
  readonly names: number
  /** Lines that people wrote, by characters. */
  readonly demands: number
  /** Entries of the plan that are not done. */
  readonly plan: number
  /** Errors of commands that failed when they last ran. */
  readonly errors: number
  /** Files that calls were about. */
  readonly paths: number
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

/** A compaction is wanted with the next request, whoever prepares it; `refusal` closes what was asked before. An epoch closes it too. */
export interface CompactionAsked extends Base {
  readonly type: 'compaction-asked'
  readonly instructions?: string
  readonly refusal?: string
}

export interface UsageSeen extends Base {
  readonly type: 'usage'
  readonly turn: string
  readonly model: string
  readonly endpoint?: string
  /** Absent when the provider reported none. */
  readonly usage?: Usage
  readonly costUsd?: number
  /** What the meter had said about the same request, before calibration. */
  readonly estimated: number
  /** What of the request the numbers measure, so that another process counts on from them. */
  readonly measured?: MeasuredRequest
  readonly epoch?: string
  /** What fitted then, so that another process sizes the next tool result alike. */
  readonly limit?: Limit
  /** Of the policy as it stood then, for whoever looks at the session later. Absent in records of earlier versions. */
  readonly thresholds?: Thresholds
  /** The request was made a closing turn, because the context was used up. */
  readonly closing?: true
  readonly purpose: 'turn' | 'summary' | 'extract'
  /** From the request's leaving to its answer's end. */
  readonly durationMs?: number
  /** Keyed hash of the API key that paid; absent where it is the tenant. */
  readonly key?: string
  /** The server had cut the prompt: the number is billed, and measures nothing that was sent. */
  readonly cut?: true
  /** The answer came with the provider's own compaction: what it had read before is no longer what it holds. */
  readonly compacted?: true
  /** Tokens of what the answer sealed, by its seal: nobody can count them when the client sends them back. */
  readonly hidden?: Readonly<Record<string, number>>
}

/**
 * One line of a budget's account, in a log of its own: what a call holds before it is made, or what it came to. A hold that nobody
 * settled goes on counting, since the provider may have billed it.
 */
export interface Spend extends Base {
  readonly type: 'spend'
  /** The process that wrote it. */
  readonly holder: string
  readonly id: string
  readonly held?: number
  readonly spent?: number
  /** The closing answer of this budget was given away, and what the budget allowed then. */
  readonly final?: true
  readonly under?: number
}

export interface MeasuredRequest {
  /** Chain hash of its last item: the numbers hold for transcripts that continue from there. */
  readonly chain: string
  /** Items that the view had. */
  readonly items: number
  /** Raw tokens of instructions and tools. */
  readonly standing: number
  /** Raw tokens by content class. */
  readonly byClass: Readonly<Record<string, number>>
  /** Counted with the exact vocabulary; from here on the session is. */
  readonly exact?: true
  /** The provider counted more than the request shows: what it holds, or what its own tools found. */
  readonly partial?: true
  /** It brought only what was new; the provider held the rest. */
  readonly chained?: true
  /** The count is far below what was sent; on some servers that is what a cut prompt looks like. */
  readonly suspect?: true
}

/** Every cut, drop and refusal: what, why, how large, and the address of the original. */
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
  /** Hash of what was shown, so that the view is known for one when a request brings it back. */
  readonly view?: string
  /** It was the window that had no room: the tool budget of this agent is exceeded, and stays so. */
  readonly cause?: 'window'
}

/**
 * A request that was handed out, and from then on counts as sent: whoever asks for it again gets the same bytes. Not written where the
 * answer's usage, which says the same, lands in the log together with the request.
 */
export interface RequestSent extends Base {
  readonly type: 'request-sent'
  /** Chain hash that it ended with. */
  readonly chain: string
  readonly model: string
  readonly endpoint?: string
  /** The epoch that stood. */
  readonly epoch?: string
  /** Tokens that fitted then. */
  readonly limit: number
  /** It was made a closing turn, because the context was used up. */
  readonly closing?: true
  /** The provider refused it, or it never got there: it does not count as sent any more. */
  readonly refused?: true
}

/** What the meter knew when the session began: later usage builds on it, in the same way in every process. */
export interface CalibrationSeed extends Base {
  readonly type: 'calibration'
  readonly state: unknown
}

/** What happened in one process, for the others that share the store; in a log of its own. */
export interface LiveEventsSent extends Base {
  readonly type: 'live-events'
  readonly sender: string
  readonly events: readonly unknown[]
}

/** Background work is leased so that two processes never do it twice. */
export interface Lease extends Base {
  readonly type: 'lease'
  readonly work: string
  readonly holder: string
  readonly until: number
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
  | Lease
  | LiveEventsSent
  | Spend
