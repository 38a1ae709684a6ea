import type { Epoch, MeasuredRequest } from '../core/records.ts'
import type { Limit, Load } from '../core/target.ts'
import { createLedger, type Anchor, type Calibration, type Ledger, type Spender } from '../meter/index.ts'
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
  /** Who pays, when that is not the tenant: the name of an API key, never the key. */
  key?: string
  /** Every call of the session, of all its agents, from its log. */
  readonly calls: Ledger
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
  last?: Measured
  /** The last request came in at or above high water. */
  isHigh: boolean
  /** First-send edits of this branch, for the time when the store cannot be asked. */
  readonly edits: EditMemory
  readonly owed: Owed
  /** Learned from this branch's own log, so that every process that reads the log counts alike. */
  calibration?: Calibration
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
    calls: createLedger(),
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

/** Who a call of this branch is booked on. */
export const spenderOf = ({ tenant, session, agent, key }: Branch): Required<Spender> => ({
  tenant,
  session,
  agent,
  key: key ?? tenant,
})
