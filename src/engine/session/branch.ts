import type { Limit, Load, Thresholds } from '../../core/target.ts'
import type { Spender } from '../../meter/index.ts'
import type { EngineDeps } from '../deps.ts'
import { branchLog, type BranchLog, type EpochChange } from './branch-log.ts'
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
 * What a process remembers about one agent of a session. All of it can be rebuilt from the log or the next request.
 * Each field with state is a class of this file; only its own methods assign its fields, and the compiler checks that.
 */
export interface Branch extends BranchOwner {
  readonly inOrder: InOrder
  readonly log: BranchLog
  readonly standing: Readonly<StandingEpoch>
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
  readonly wish: Readonly<CompactWish>
  readonly background: Readonly<BackgroundSlot>
}

interface BranchOwner {
  readonly tenant: string
  readonly session: string
  readonly agent: string
  /** The name of the API key that pays, when it is not the tenant's. Never the key itself. */
  readonly key?: string
}

type InOrder = <T>(work: (engine: EngineDeps) => Promise<T>) => Promise<T>

export function newBranch(owner: BranchOwner, inOrder: InOrder, deps: Pick<EngineDeps, 'hash' | 'redact'>): Branch {
  return {
    ...owner,
    inOrder,
    log: branchLog(owner, deps),
    standing: new StandingEpoch(),
    requests: new LastRequest(),
    turns: new OpenTurns(),
    referenced: new Set(),
    artifactWrites: 0,
    toolUse: NOTHING_USED,
    archivedItems: [],
    outbox: new Outbox(),
    wish: new CompactWish(),
    background: new BackgroundSlot(),
  }
}

/** Whether a history was sent before, so that the request is a resend or a rewind. */
export const wasSent = ({ log, requests }: Pick<Branch, 'log' | 'requests'>, chain: string): boolean =>
  log.sent.has(chain) || requests.has(chain)

export const modelOf = ({ log, requests }: Branch): string | undefined => requests.last?.model ?? log.lastCall?.model

export const limitOf = ({ log, requests }: Branch): Limit | undefined => requests.last?.limit ?? log.lastCall?.limit

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
export interface OpenTurn extends Pick<UsageSeen, 'model' | 'endpoint' | 'epoch' | 'estimated'> {
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
  /** The budget reservation, until the answer's cost is known. */
  readonly reservation?: string
  /** The request asks for a final answer, because the context is used up. */
  readonly isClosing: boolean
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

/** The epoch that applies to the requests of a branch, as far as this process knows. */
class StandingEpoch {
  epoch: Epoch | undefined

  /** Sets the epoch that was declared, or found for the client's history; undefined when that history no longer contains what the epoch covers. */
  take(epoch: Epoch | undefined): void {
    this.epoch = epoch
  }

  follow(change: EpochChange): void {
    if ('stands' in change) this.epoch = change.stands
    else if (this.epoch?.id === change.undone) this.epoch = undefined
  }
}

interface WaitingArtifact {
  readonly bytes: Uint8Array
  readonly meta: ArtifactMeta
}

/** Beyond this, only the client's transcript holds the bytes until the store is back. */
const MOST_ARTIFACT_BYTES = 64 * 1024 * 1024
const MOST_RECORDS = 10_000

/** Log entries, epochs and artifacts that wait in memory until the store is back. */
class Outbox {
  records: readonly LogRecord[] = []
  epochs: readonly Epoch[] = []
  artifacts: ReadonlyMap<string, WaitingArtifact> = new Map()

  get isEmpty(): boolean {
    return this.records.length + this.epochs.length + this.artifacts.size === 0
  }

  /** Without items: the next request contains them again, and they are archived then. */
  addRecords(records: readonly LogRecord[]): void {
    const kept = records.filter(({ type }) => type === 'edit' || type === 'audit' || type === 'usage')
    this.records = [...this.records, ...kept].slice(0, MOST_RECORDS)
  }

  addEpoch(epoch: Epoch): void {
    this.epochs = [...this.epochs, epoch]
  }

  /** False when the artifact does not fit. */
  addArtifact(handle: string, artifact: WaitingArtifact): boolean {
    const others = [...this.artifacts.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
    const fits = this.artifacts.has(handle) || others + artifact.bytes.length <= MOST_ARTIFACT_BYTES
    if (fits) this.artifacts = new Map([...this.artifacts, [handle, artifact]])
    return fits
  }

  take(): Pick<Outbox, 'records' | 'epochs' | 'artifacts'> {
    const { records, epochs, artifacts } = this
    this.records = []
    this.epochs = []
    this.artifacts = new Map()
    return { records, epochs, artifacts }
  }
}

/** What a user asks of a compaction. */
export interface CompactRequest {
  /** What the summary should contain. The text goes to the model that writes the summary, and stays in view. */
  readonly instructions?: string
  /** The request was read from the log, so its outcome is logged too. */
  readonly isLogged?: boolean
}

/** A compaction that was asked for: the next request declares an epoch, whatever its load. */
class CompactWish {
  request: CompactRequest | undefined
  /** Why the last requested compaction failed. */
  refusal: string | undefined

  ask(request: CompactRequest): void {
    this.request = request
    this.refusal = undefined
  }

  /** An epoch was tried; `refusal` says why none was declared. */
  answer(refusal?: string): void {
    if (this.request !== undefined) this.refusal = refusal
    this.request = undefined
  }
}

/** The history that a background summary covers: its chain hash, its length and the epoch that applied when it was planned. */
interface SummarisedHistory {
  readonly chain: string
  readonly count: number
  readonly standing: string | undefined
}

/** A summary that is being written, or waits for the request that uses it. Kept in memory only. */
interface BackgroundSummary extends SummarisedHistory {
  /** The plan with the model's summary; undefined while it is being written, and when the model failed. */
  readonly proposal: Proposal | undefined
  readonly isOver: boolean
}

class BackgroundSlot {
  summary: BackgroundSummary | undefined
  /** The load at which the last one was started. */
  startedAt = 0
  #work: RunningWork | undefined

  /** `run` starts the work and passes its outcome to `finish`; it returns undefined when the engine is closing. */
  start(
    history: SummarisedHistory,
    load: number,
    run: (finish: (proposal: Proposal | undefined) => void) => RunningWork | undefined,
  ): void {
    this.startedAt = load
    let own: BackgroundSummary = { ...history, proposal: undefined, isOver: false }
    const work = run((proposal) => {
      const before = own
      own = { ...own, proposal, isOver: true }
      if (this.summary === before) this.summary = own
    })
    if (work === undefined) return
    this.summary = own
    this.#work = work
  }

  /** Forgets the summary and aborts the work. */
  drop(): void {
    this.#work?.abort()
    this.#work = undefined
    this.summary = undefined
  }
}

/** Whether a summary is being written. An epoch that the limit does not force waits for it. */
export const isWriting = ({ summary }: Pick<BackgroundSlot, 'summary'>): boolean => summary?.isOver === false
