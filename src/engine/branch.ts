import type { Epoch, MeasuredRequest } from '../core/records.ts'
import type { Limit, Load } from '../core/target.ts'
import type { Anchor, Calibration } from '../meter/index.ts'
import type { BackgroundSummary } from './background-summary.ts'
import type { EngineDeps } from './deps.ts'
import { newOwed, type EditMemory, type Owed } from './owed.ts'
import type { Readers } from './reader-tools.ts'

/**
 * What a session remembers in memory about one agent's line of work. Everything here can be rebuilt from the log or the
 * next request; losing it costs a look-up, never a byte.
 */
export interface Branch {
  readonly tenant: string
  readonly session: string
  readonly agent: string
  /** Every chain hash that was sent, to tell a resend or rewind from something new. */
  readonly sent: Set<string>
  /** Identities that the archive is known to hold. */
  readonly archived: Set<string>
  epoch?: Epoch
  readonly pins: Set<string>
  /** Epochs that were taken back; the next one gets another id. */
  readonly undone: Set<string>
  /** Version of the log that this memory reflects. */
  version: number
  /** Work on the last request that nobody waits for; the next call of the session comes after it. */
  later?: () => Promise<void>
  /** Items of the last request. */
  items: readonly SeenItem[]
  /** Growth of the load over the last calls, epochs left out. */
  growth: readonly number[]
  readonly turns: Map<string, OpenTurn>
  turnCount: number
  /** The model, load and limit of the last request. */
  model?: string
  load?: Load
  /** Readers that the last request declared. */
  readers: Readers
  limit?: Limit
  /** The last answer was served from the prompt cache in part. */
  cacheIsWarm: boolean
  /** The next request declares an epoch, needed or not. */
  compactRequested: boolean
  /** What was asked of it. */
  compactRequest?: CompactRequest
  /** Why the last reduction that was asked for came to nothing. */
  compactOutcome?: string
  last?: Measured
  /** A summary that is written in the background. */
  summary?: BackgroundSummary
  /** The load at which the last one was started. */
  summaryRest?: number
  /** Runs work of the background in its turn with the session's calls. */
  inTurn?: <T>(work: (engine: EngineDeps) => Promise<T>) => Promise<T>
  /** The last request came in at or above high water. */
  isHigh: boolean
  /** First-send edits of this branch, for the time when the store cannot be asked. */
  readonly edits: EditMemory
  readonly owed: Owed
  /** Learned from this branch's own log, so that every process that reads the log counts alike. */
  calibration?: Calibration
}

/** What a person asks of a reduction. */
export interface CompactRequest {
  /** What the summary should hold; it goes to the model that writes it, and stays in view. */
  readonly instructions?: string
}

/** What a person sees of an item when choosing what to pin. */
export interface SeenItem {
  readonly identity: string
  readonly kind: string
  readonly toolName?: string
  /** The first characters. */
  readonly excerpt: string
}

/** A prepared request whose response has not been recorded yet. */
export interface OpenTurn {
  readonly id: string
  readonly model: string
  readonly endpoint?: string
  readonly format: string
  readonly measured: MeasuredRequest
  /** Raw tokens of the whole request. */
  readonly estimated: number
  /** Held against the budgets until the answer's cost is known. */
  readonly reservation?: string
  readonly epoch?: string
  readonly startedAt: number
}

/** What the provider said about the last request of this branch, and which request that was. */
export interface Measured extends Anchor {
  /** When its answer was recorded. */
  readonly at: number
  readonly model: string
  readonly endpoint?: string
  readonly chain: string
  readonly byClass: Readonly<Record<string, number>>
}

export function newBranch(tenant: string, session: string, agent: string): Branch {
  return {
    tenant,
    session,
    agent,
    sent: new Set(),
    archived: new Set(),
    pins: new Set(),
    edits: { byKey: new Map(), characters: 0 },
    owed: newOwed(),
    undone: new Set(),
    version: 0,
    items: [],
    growth: [],
    turns: new Map(),
    turnCount: 0,
    cacheIsWarm: false,
    compactRequested: false,
    isHigh: false,
    readers: new Map(),
  }
}
