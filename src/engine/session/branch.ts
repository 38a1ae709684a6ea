import type { Link } from '../../core/chain.ts'
import type { Count } from '../../core/count.ts'
import type { Handle } from '../../core/handles.ts'
import type { Item } from '../../core/item.ts'
import type { CalibrationSeed, Epoch, FirstSendEdit, LogRecord, MeasuredRequest } from '../../core/records.ts'
import type { Limit, Load } from '../../core/target.ts'
import { createLedger, type Anchor, type Calibration, type Ledger, type Spender } from '../../meter/index.ts'
import { ArchivedTexts } from './archived-texts.ts'
import type { BackgroundSummary } from '../epoch/background-summary.ts'
import type { EngineDeps } from '../deps.ts'
import type { FoundEpoch } from '../../ports/session-store.ts'
import type { Issuer } from '../prepare/decorate/foreign-seals.ts'
import { newOutbox, type EditMemory, type Outbox } from './outbox.ts'
import type { Readers } from '../readers/reader-tools.ts'
import type { EpochView } from '../memo/epoch-view-memo.ts'
import type { EditedPrefix } from '../memo/edited-prefix-memo.ts'
import { NOTHING_USED, type BudgetSnapshot } from '../tool-results/tool-budget.ts'

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
  /** What the session's own log holds: identities of items, ids of epochs, keys of first-send edits. */
  readonly archived: ArchivedTexts
  readonly heldEpochs: Set<string>
  readonly heldEdits: Set<string>
  epoch?: Epoch
  readonly pins: Set<string>
  /** Epochs that were taken back; the next one gets another id. */
  readonly undone: Set<string>
  /** Version of the log that this memory reflects. */
  version: number
  /** The last request. */
  request?: ChainedItems
  /** The same with what the store said about it; gone as soon as the log holds another decision. */
  trail?: Trail
  /** The last request that the archive holds as a whole. */
  archivedItems?: readonly Item[]
  /** What the standing epoch makes of the items that it covers. */
  epochView?: EpochView
  /** What reduced requests begin with since the last change. */
  editedPrefix?: EditedPrefix
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
  /** Who answered a request, by the chain hash that it ended with. */
  readonly issuers: Map<string, Issuer>
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
  /** Views that `toolResult` gave out, by hash → the artifacts that they were made from. */
  readonly views: Map<string, readonly Handle[]>
  /** Artifacts that the store knows as this session's. */
  readonly referenced: Set<Handle>
  /** Artifacts written by this process. */
  writes: number
  /** Tokens that results took since the last request, and in the session as far as this process knows. */
  toolUse: BudgetSnapshot
  readonly outbox: Outbox
  /** Learned from this branch's own log, so that every process that reads the log counts alike. */
  calibration?: Calibration
  /** Tokens of what answers of this session sealed, by seal. */
  readonly hidden: Map<string, number>
  /** What the calibration began with, until the next write takes it along. */
  seed?: CalibrationSeed
}

/** What a person asks of a reduction. */
export interface CompactRequest {
  /** What the summary should hold; it goes to the model that writes it, and stays in view. */
  readonly instructions?: string
}

export interface ChainedItems {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

/** A request, and what stood for it: the next one asks only about what it adds. */
export interface Trail extends ChainedItems {
  readonly epochs: readonly FoundEpoch[]
  readonly firstSend: ReadonlyMap<number, FirstSendEdit>
}

/** Records that wait for the answer to be written with. */
export interface Unwritten {
  records(): readonly LogRecord[]
  /** They are in the log. */
  written(): void
}

/** A prepared request whose response has not been recorded yet. */
export interface OpenTurn {
  readonly id: string
  readonly model: string
  readonly endpoint?: string
  readonly format: string
  readonly limit: Limit
  readonly measured: MeasuredRequest
  /** Raw tokens of the whole request. */
  readonly estimated: number
  /** Its tokens as the meter saw them, a design's formula left aside. */
  readonly count: Count
  /** Held against the budgets until the answer's cost is known. */
  readonly reservation?: string
  readonly epoch?: string
  readonly startedAt: number
  /** What the log does not hold of this request yet; written together with its answer. */
  readonly unwritten?: Unwritten
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
    archived: new ArchivedTexts(),
    heldEpochs: new Set(),
    heldEdits: new Set(),
    pins: new Set(),
    edits: { byKey: new Map(), characters: 0 },
    outbox: newOutbox(),
    undone: new Set(),
    hidden: new Map(),
    issuers: new Map(),
    version: 0,
    growth: [],
    turns: new Map(),
    turnCount: 0,
    cacheIsWarm: false,
    compactRequested: false,
    isHigh: false,
    readers: new Map(),
    views: new Map(),
    referenced: new Set(),
    writes: 0,
    toolUse: NOTHING_USED,
  }
}

/** Who a call of this branch is booked on. */
export const spenderOf = ({ tenant, session, agent, key }: Branch): Required<Spender> => ({
  tenant,
  session,
  agent,
  key: key ?? tenant,
})
