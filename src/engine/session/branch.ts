import type { Limit, Load, Thresholds } from '../../core/target.ts'
import type { CachedCall, CacheExpectation, Spender } from '../../meter/index.ts'
import type { EngineDeps } from '../deps.ts'
import { branchLog, type BranchLog } from './branch-log.ts'
import type { Link } from '../../core/chain.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import type { FirstSendEdit, LogRecord, MeasuredRequest, Epoch, UsageSeen } from '../../core/records.ts'
import type { FoundEpoch } from '../../ports/session-store.ts'
import type { Readers } from '../readers/reader-tools.ts'
import type { Count } from '../../core/count.ts'
import type { Proposal } from '../epoch/cascade/draft.ts'
import { ItemSizes, type Suspect } from '../learning/item-sizes.ts'
import type { RunningWork } from './background-work.ts'
import type { Handle } from '../../core/handles.ts'
import { BoundedMap, jointKey } from '../../util/bounded-map.ts'
import { NOTHING_USED, type BudgetSnapshot } from '../tool-results/tool-budget.ts'

/**
 * What a process remembers about one agent of a session. All of it can be rebuilt from the log or the next request.
 * Each field with state is a class of this file; only its own methods assign its fields, and the compiler checks that.
 */
export interface Branch extends BranchOwner {
  /** What the session's log says. */
  readonly log: BranchLog
  /** The last request of this process, and what it sent before. */
  readonly requests: Readonly<LastRequest>
  /** Prepared requests without an answer yet. */
  readonly turns: Readonly<OpenTurns>
  /** Artifacts that this process has marked as used by the session, and how many it has written. */
  readonly referenced: Set<Handle>
  artifactWrites: number
  /** Tokens of results in this turn and in the session, as far as this process knows. */
  toolUse: BudgetSnapshot
  /** The last request's items, once all of them are archived; `log.ts` assigns it. */
  archivedItems: readonly Item[]
  readonly outbox: Readonly<Outbox>
  /** What the last calls left in the provider's cache. */
  readonly caches: Readonly<Caches>
  /** A summary that is written while requests go on. */
  readonly background: Readonly<BackgroundSummary>
  /** Tokens that the client had asked for, where a cap of ours cut the last answer; else 0. Assigned with each answer. */
  cutAnswer: number
  /** What providers' counts told about the size of items. */
  readonly sizes: ItemSizes
}

export interface BranchOwner {
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
    caches: new Caches(),
    background: new BackgroundSummary(),
    cutAnswer: 0,
    sizes: new ItemSizes(),
  }
}

/** Whether a history was sent before, so that the request is a resend or a rewind. */
export const wasSent = ({ log, requests }: Pick<Branch, 'log' | 'requests'>, chain: string): boolean =>
  log.sent.has(chain) || requests.has(chain)

export const modelOf = ({ log, requests }: Branch): string | undefined => requests.last?.model ?? log.lastCall?.model

export const limitOf = ({ log, requests }: Branch): Limit | undefined => requests.last?.limit ?? log.lastCall?.limit

/** Room above the answers that came. */
const OUTPUT_ROOM = 1.5
/** A limit that moves with every answer would move what is compacted when. */
const OUTPUT_STEP = 1_024
const MOST_ANSWERS = 0.95

/** Tokens that answers of this branch needed, all but the very longest, with room above; more where one was cut by a cap of ours. */
export function neededOutput({ log, cutAnswer }: Pick<Branch, 'log' | 'cutAnswer'>): number {
  const sorted = log.outputs.toSorted((a, b) => a - b)
  const usual = (sorted[Math.ceil(sorted.length * MOST_ANSWERS) - 1] ?? 0) * OUTPUT_ROOM
  return Math.max(Math.ceil(usual / OUTPUT_STEP) * OUTPUT_STEP, cutAnswer)
}

/** The accounts that a call of this branch is charged to. */
export const spenderOf = ({ tenant, session, agent, key }: Branch): Required<Spender> => ({
  tenant,
  session,
  agent,
  key: key ?? tenant,
})

/** Calls until so many more tokens are used, by the growth of the load. The sum of prompts would grow even when nothing is added. */
export function turnsUntil(tokens: number, growth: readonly number[]): number | undefined {
  if (growth.length < 2) return undefined
  const mean = growth.reduce((sum, one) => sum + one, 0) / growth.length
  return mean <= 0 ? undefined : Math.max(0, Math.floor(tokens / mean))
}

export interface ChainedItems {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
}

interface Sent extends ChainedItems {
  readonly model: string
  readonly load: Load
  readonly limit: Limit
  /** The request's settings: its output cap among others. */
  readonly asked: Pick<Conversation, 'format' | 'settings'>
  /** The reader tools that the request declared. */
  readonly readers: Readers
}

/** The edits that already apply to a request: its epoch, if there is one, and the first-send edits of its items. */
export interface Standing {
  readonly epoch: Epoch | undefined
  /** All epochs that cover a prefix of the transcript, `epoch` included. */
  readonly epochs: readonly FoundEpoch[]
  /** Item index → the edit made when it was first sent. */
  readonly firstSend: ReadonlyMap<number, FirstSendEdit>
}

/** A request and the edits that applied to it: the next request looks up only what it adds. */
interface Trail extends ChainedItems, Standing {
  /** The log's number of decisions at that time; when it has changed, the edits are looked up again. */
  readonly decisions: number
}

/** Number of calls whose growth is averaged. */
const MOST_GROWTH = 10

class LastRequest {
  last: Sent | undefined
  /** Its standing edits; undefined when they must be looked up in the store again. */
  trail: Trail | undefined
  /** Growth of the load per call, without calls that declared an epoch. */
  growth: readonly number[] = []
  /** The load at which a compaction that nothing forced came to nothing. */
  refusedAt = 0
  /** The last request came in at or above high water. */
  isHigh = false
  readonly #sent = new Set<string>()

  /** Whether this process prepared a request with this chain hash. */
  has(chain: string): boolean {
    return this.#sent.has(chain)
  }

  /**
   * Remembers a prepared request. `known`: links that the previous request had too; `decisions`: undefined when the next request must look up all
   * edits; `isReduced`: the request declared an epoch, so its load says nothing about growth.
   */
  prepared(request: Sent, known: number, standing: Standing, decisions: number | undefined, isReduced: boolean): void {
    const { items, links, model, load } = request
    for (const { chain } of links.slice(known)) this.#sent.add(chain)
    if (!isReduced && this.last?.model === model)
      this.growth = [...this.growth.slice(1 - MOST_GROWTH), load.count.high - this.last.load.count.high]
    this.last = request
    this.trail = decisions === undefined ? undefined : { items, links, ...standing, decisions }
  }

  /** Whether a request rose to high water: at or above it now, below it at the last request. */
  rose(isHigh: boolean): boolean {
    const wasHigh = this.isHigh
    this.isHigh = isHigh
    return isHigh && !wasHigh
  }

  refused(load: number): void {
    this.refusedAt = load
  }

  /** Called while the store is unreachable: the next request looks its edits up again. */
  forgetTrail(): void {
    this.trail = undefined
  }
}

/** Log entries about a request that are written together with its answer. */
export interface Unwritten {
  /** Built when the answer has arrived. */
  records(): Promise<readonly LogRecord[]>
  /** Called once they are in the log. */
  written(): void
}

/** A prepared request whose response has not been recorded yet. */
export interface OpenTurn extends Pick<UsageSeen, 'model' | 'endpoint' | 'epoch' | 'fetchedAgain' | 'estimated'> {
  readonly id: string
  readonly format: string
  readonly limit: Limit
  readonly thresholds: Thresholds
  readonly measured: MeasuredRequest
  /** Its tokens by the meter, without the formula of a design. */
  readonly count: Count
  /** The provider answers prompts that are too long with an error. */
  readonly refusesOverflow: boolean
  /** The provider holds the earlier history (a chained request). */
  readonly isChained: boolean
  readonly key?: string
  /** Held against the budgets until the answer's cost is known. */
  readonly reservation?: string
  /** Tokens that the client sent and that did not leave, as we count them. */
  readonly notSent: number
  readonly isOwnStep?: true
  readonly cache: CacheExpectation
  /** How its conversation begins. */
  readonly line: string
  /** The request asks for a final answer, because the context is used up. */
  readonly isClosing: boolean
  /** Items whose size its usage may tell. */
  readonly suspects: readonly Suspect[]
  /** Tokens that items hold beyond their counts. */
  readonly missed: number
  /** The client's output cap, where ours is lower. */
  readonly askedOutput?: number
  readonly startedAt: number
  /** Log entries about this request that are written together with its answer. */
  readonly unwritten?: Unwritten
}

class OpenTurns {
  count = 0
  readonly #open = new Map<string, OpenTurn>()

  /** Opens a turn under an id that the log does not have yet. */
  open(turn: Omit<OpenTurn, 'id'>, inLog: number, isSent: boolean): string {
    this.count = Math.max(this.count, inLog) + 1
    const id = `turn-${this.count}`
    if (isSent) this.#open.set(id, { ...turn, id })
    return id
  }

  /** Undefined for a turn that is not open. */
  close(id: string): OpenTurn | undefined {
    const turn = this.#open.get(id)
    this.#open.delete(id)
    return turn
  }
}

/** Lines of work whose last call is remembered: a client's main one, and a few that it has beside it. */
const MOST_LINES = 4

class Caches {
  readonly #calls = new BoundedMap<string, { readonly line: string; readonly call: CachedCall }>(MOST_LINES)

  answered(line: string, call: CachedCall): void {
    this.#calls.set(jointKey(line, call.model), { line, call })
  }

  /** The last call of the same line, first of all one of the same model; else the last that went to the same place with the same tools. */
  before(line: string, { model, endpoint }: Pick<CachedCall, 'model' | 'endpoint'>): CachedCall | undefined {
    const newest = [...this.#calls.values()].toReversed()
    const own = newest.filter((one) => one.line === line)
    const elsewhere = newest.slice(0, 1).filter(({ call }) => call.model === model && call.endpoint === endpoint)
    return (own.find(({ call }) => call.model === model) ?? own[0] ?? elsewhere[0])?.call
  }
}

const MOST_RECORDS = 10_000

/** Log entries and epochs that wait in memory until the store is back. */
class Outbox {
  records: readonly LogRecord[] = []
  epochs: readonly Epoch[] = []

  get isEmpty(): boolean {
    return this.records.length + this.epochs.length === 0
  }

  /** Without items: the next request contains them again, and they are archived then. */
  addRecords(records: readonly LogRecord[]): void {
    const kept = records.filter(({ type }) => type === 'edit' || type === 'audit' || type === 'usage')
    this.records = [...this.records, ...kept].slice(0, MOST_RECORDS)
  }

  addEpoch(epoch: Epoch): void {
    this.epochs = [...this.epochs, epoch]
  }

  take(): Pick<Outbox, 'records' | 'epochs'> {
    const { records, epochs } = this
    this.records = []
    this.epochs = []
    return { records, epochs }
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
