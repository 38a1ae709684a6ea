import type { Limit, Load, Thresholds } from '../../core/target.ts'
import type { Spender } from '../../meter/index.ts'
import type { EngineDeps } from '../deps.ts'
import { branchLog, type BranchLog } from './branch-log.ts'
import type { Link } from '../../core/chain.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { FirstSendEdit, LogRecord, MeasuredRequest, Epoch, UsageSeen } from '../../core/records.ts'
import type { FoundEpoch } from '../../ports/session-store.ts'
import type { Readers } from '../readers/reader-tools.ts'
import type { Count } from '../../core/count.ts'
import type { ArtifactMeta } from '../../ports/artifact-store.ts'
import type { Proposal } from '../epoch/cascade/draft.ts'
import type { RunningWork } from './background-work.ts'
import type { Handle } from '../../core/handles.ts'
import { NOTHING_USED, type BudgetSnapshot } from '../tool-results/tool-budget.ts'

/**
 * What a session remembers in memory about one agent's line of work. Everything here can be rebuilt from the log or the
 * next request; losing it costs a look-up, never a byte.
 *
 * It is a set of records. Each is a class of this file, and only its own methods assign its fields: all other code gets them read-only, and the
 * compiler holds that.
 */
export interface Branch extends BranchOwner {
  /** What the session's log says. */
  readonly log: BranchLog
  /** The last request of this process, and what it sent before. */
  readonly requests: Readonly<LastRequest>
  /** Prepared requests without an answer yet. */
  readonly turns: Readonly<OpenTurns>
  /** Artifacts that the store knows as this session's because this process told it, and how many it has written. */
  readonly referenced: Set<Handle>
  artifactWrites: number
  /** Tokens that results took since the last request, and in the session as far as this process knows; assigned when results were shown or a request has them. */
  toolUse: BudgetSnapshot
  /** Items of a request, once the archive holds all of them; `log.ts` assigns it. */
  archivedItems: readonly Item[]
  /** What could not be written while the store was away. */
  readonly outbox: Readonly<Outbox>
  /** A summary that is written while requests go on. */
  readonly background: Readonly<BackgroundSummary>
}

interface BranchOwner {
  readonly tenant: string
  readonly session: string
  readonly agent: string
  /** Who pays for the call at hand, when that is not the tenant: the name of an API key, never the key. Assigned with a request and its answer. */
  key?: string
  /** Runs work in its order among the session's calls. */
  readonly inOrder: <T>(work: (engine: EngineDeps) => Promise<T>) => Promise<T>
}

export function newBranch(owner: BranchOwner, deps: Pick<EngineDeps, 'hash' | 'redact'>): Branch {
  return {
    ...owner,
    log: branchLog(owner, deps),
    requests: new LastRequest(),
    turns: new OpenTurns(),
    referenced: new Set(),
    artifactWrites: 0,
    toolUse: NOTHING_USED,
    archivedItems: [],
    outbox: new Outbox(),
    background: new BackgroundSummary(),
  }
}

/** Whether a history was sent before: a resend or rewind, not something new. */
export const wasSent = ({ log, requests }: Pick<Branch, 'log' | 'requests'>, chain: string): boolean =>
  log.sent.has(chain) || requests.has(chain)

/** The model of the last request, of this process or another. */
export const modelOf = ({ log, requests }: Branch): string | undefined => requests.last?.model ?? log.lastCall?.model

export const limitOf = ({ log, requests }: Branch): Limit | undefined => requests.last?.limit ?? log.lastCall?.limit

/** Who a call of this branch is booked on. */
export const spenderOf = ({ tenant, session, agent, key }: Branch): Required<Spender> => ({
  tenant,
  session,
  agent,
  key: key ?? tenant,
})

/** Calls until so many tokens are used, from the growth of the load, not from the sum of prompts: that sum grows even when nothing is added. */
export function turnsUntil(tokens: number, growth: readonly number[]): number | undefined {
  if (growth.length < 2) return undefined
  const mean = growth.reduce((sum, one) => sum + one, 0) / growth.length
  return mean <= 0 ? undefined : Math.max(0, Math.floor(tokens / mean))
}

export interface ChainedItems {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

/** A request as it was prepared. */
interface Sent extends ChainedItems {
  readonly model: string
  readonly load: Load
  readonly limit: Limit
  /** What it asked for beside its history: its output cap among others. */
  readonly asked: Pick<Conversation, 'format' | 'settings'>
  /** Readers that it declared. */
  readonly readers: Readers
}

/** The edits that already stand for a request: its epoch, if one applies, and the first-send edits of its items. */
export interface Standing {
  readonly epoch: Epoch | undefined
  /** Every epoch that covers a part of the transcript, that one included. */
  readonly epochs: readonly FoundEpoch[]
  /** Item index → the edit made when it was first sent. */
  readonly firstSend: ReadonlyMap<number, FirstSendEdit>
}

/** A request, and what stood for it: the next one asks only about what it adds. */
interface Trail extends ChainedItems, Standing {
  /** Decisions that the log held then; with another one what stood has to be asked again. */
  readonly decisions: number
}

/** Calls that the growth is taken from. */
const MOST_GROWTH = 10

/** The last request that this process prepared. */
class LastRequest {
  last: Sent | undefined
  /** What stood for it; undefined where the store has to be asked again. */
  trail: Trail | undefined
  /** Growth of the load over the last calls, epochs left out. */
  growth: readonly number[] = []
  /** It came in at or above high water. */
  isHigh = false
  readonly #sent = new Set<string>()

  /** Whether a history was prepared here, by its chain hash. */
  has(chain: string): boolean {
    return this.#sent.has(chain)
  }

  /**
   * A request is ready to leave. `known`: links that the one before had as well; `decisions`: undefined where the next request has to ask the store
   * for everything; `isReduced`: it declared an epoch, and its load says nothing about growth.
   */
  prepared(request: Sent, known: number, standing: Standing, decisions: number | undefined, isReduced: boolean): void {
    const { items, links, model, load } = request
    for (const { chain } of links.slice(known)) this.#sent.add(chain)
    if (!isReduced && this.last?.model === model)
      this.growth = [...this.growth.slice(1 - MOST_GROWTH), load.count.high - this.last.load.count.high]
    this.last = request
    this.trail = decisions === undefined ? undefined : { items, links, ...standing, decisions }
  }

  /** Notes whether a request came in at or above high water; true when the one before did not. */
  rose(isHigh: boolean): boolean {
    const wasHigh = this.isHigh
    this.isHigh = isHigh
    return isHigh && !wasHigh
  }

  /** What memory said in the store's place has to be asked again. */
  forgetTrail(): void {
    this.trail = undefined
  }
}

/** Records that wait for the answer to be written with. */
export interface Unwritten {
  /** Worked out when the answer is there. */
  records(): Promise<readonly LogRecord[]>
  /** They are in the log. */
  written(): void
}

/** A prepared request whose response has not been recorded yet. */
export interface OpenTurn extends Pick<UsageSeen, 'model' | 'endpoint' | 'epoch' | 'estimated'> {
  readonly id: string
  readonly format: string
  readonly limit: Limit
  readonly thresholds: Thresholds
  readonly measured: MeasuredRequest
  /** Its tokens as the meter saw them, a design's formula left aside. */
  readonly count: Count
  /** Its provider refuses what is too long. */
  readonly refusesOverflow: boolean
  /** The provider holds the history before it. */
  readonly isChained: boolean
  readonly key?: string
  /** Held against the budgets until the answer's cost is known. */
  readonly reservation?: string
  /** It was made a closing turn, because the context was used up. */
  readonly isClosing: boolean
  readonly startedAt: number
  /** What the log does not hold of this request yet; written together with its answer. */
  readonly unwritten?: Unwritten
}

/** Requests that wait for their answer. */
class OpenTurns {
  /** The highest number that was given out. */
  count = 0
  readonly #open = new Map<string, OpenTurn>()

  /** Gives it an id that no turn of the log has. */
  open(turn: Omit<OpenTurn, 'id'>, inLog: number, isSent: boolean): string {
    this.count = Math.max(this.count, inLog) + 1
    const id = `turn-${this.count}`
    if (isSent) this.#open.set(id, { ...turn, id })
    return id
  }

  /** Each can be closed once. */
  close(id: string): OpenTurn | undefined {
    const turn = this.#open.get(id)
    this.#open.delete(id)
    return turn
  }
}

interface WaitingArtifact {
  readonly bytes: Uint8Array
  readonly meta: ArtifactMeta
}

/** Beyond this the client's own transcript, sent again whole, is the only copy until the store is back. */
const MOST_ARTIFACT_BYTES = 64 * 1024 * 1024
const MOST_RECORDS = 10_000

/** What could not be written while the store was away, in memory until it is back. */
class Outbox {
  records: readonly LogRecord[] = []
  epochs: readonly Epoch[] = []
  artifacts: ReadonlyMap<string, WaitingArtifact> = new Map()

  get isEmpty(): boolean {
    return this.records.length + this.epochs.length + this.artifacts.size === 0
  }

  /** Items are left out: the next request shows them again, and they are archived then. */
  addRecords(records: readonly LogRecord[]): void {
    const kept = records.filter(({ type }) => type === 'edit' || type === 'audit' || type === 'usage')
    this.records = [...this.records, ...kept].slice(0, MOST_RECORDS)
  }

  addEpoch(epoch: Epoch): void {
    this.epochs = [...this.epochs, epoch]
  }

  /** False when there is no room for it. */
  addArtifact(handle: string, artifact: WaitingArtifact): boolean {
    const others = [...this.artifacts.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
    const fits = this.artifacts.has(handle) || others + artifact.bytes.length <= MOST_ARTIFACT_BYTES
    if (fits) this.artifacts = new Map([...this.artifacts, [handle, artifact]])
    return fits
  }

  /** Takes everything out, to be written. */
  take(): Pick<Outbox, 'records' | 'epochs' | 'artifacts'> {
    const { records, epochs, artifacts } = this
    this.records = []
    this.epochs = []
    this.artifacts = new Map()
    return { records, epochs, artifacts }
  }
}

/** What a summary stands for: a history by its chain hash and length, and the epoch that stood. */
interface SummarisedHistory {
  readonly chain: string
  readonly count: number
  readonly standing: string | undefined
}

/** Room for one summary that is being written, or waits for a request that it serves. Memory only: what counts is the epoch's record. */
class BackgroundSummary {
  /** Undefined when there is no summary. */
  history: SummarisedHistory | undefined
  /** The plan with a model's words in it; undefined while they are written. */
  proposal: Proposal | undefined
  /** The load at which the last one was started. */
  startedAt = 0
  #work: RunningWork | undefined

  /** An epoch that nothing forces waits for it. */
  get isWriting(): boolean {
    return this.history !== undefined && this.proposal === undefined
  }

  start(history: SummarisedHistory, load: number, work: RunningWork): void {
    this.history = history
    this.startedAt = load
    this.#work = work
  }

  /** The work on it is over; without a proposal it came to nothing. */
  finish(history: SummarisedHistory, proposal: Proposal | undefined): void {
    // It was dropped meanwhile.
    if (this.history !== history) return
    if (proposal === undefined) this.drop()
    this.proposal = proposal
  }

  /** Ends the work, if it still goes on. */
  drop(): void {
    this.#work?.abort()
    this.history = undefined
    this.proposal = undefined
  }
}
