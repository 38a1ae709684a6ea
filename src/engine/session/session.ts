import { PlimsollError } from '../../core/errors.ts'
import { insertedTexts } from '../../core/epochs.ts'
import { RECORD_VERSION, type Audit, type Epoch } from '../../core/records.ts'
import {
  newBranch,
  type Branch,
  type BranchOwner,
  limitOf,
  modelOf,
  spenderOf,
  turnsUntil,
  type ChainedItems,
} from './branch.ts'
import { flushOutbox, tolerantDeps, type TolerantDeps } from './degraded.ts'
import type { EngineDeps } from '../deps.ts'
import {
  prepare,
  type PreparedTurn,
  type PrepareRequest,
  standingView,
  type StandingView,
  type ReadRequest,
  type ReadyRequest,
} from '../prepare/prepare.ts'
import { discard, record, type RecordedTurn, type RecordRequest, troubleRecord } from './record.ts'
import { isTrouble, type Trouble } from '../../meter/session/figures.ts'
import { historyScope, type HistoryScope, type ScopedHistory } from '../readers/scope.ts'
import { recall, recallArchived, type RecallOptions } from '../readers/recall.ts'
import type { Recalled } from '../readers/recall-answer.ts'
import { appendTo, catchUp, seedCalibration } from './log.ts'
import { exportStore, forkSession } from '../store-admin/store-admin.ts'
import {
  canExecute,
  toolResults,
  type ShownResult,
  type ToolOutcome,
  type ToolResultRequest,
} from '../tool-results/tool-result.ts'
import { mutex } from '../../util/mutex.ts'
import type { MayRun } from '../tool-results/tool-budget.ts'
import { readRequest } from '../prepare/open.ts'
import type { BudgetStanding, LedgerTotals, TurnUsage } from '../../meter/index.ts'
import { highWater } from '../epoch/thresholds.ts'

export interface CompactOptions {
  /** What the summary should hold: it reaches the model that writes it, and stays in view beside the summary. */
  readonly instructions?: string
  /** The conversation as it would be sent now. With it the reduction happens at once; without it, with the next `prepare`. */
  readonly request?: PrepareRequest
  /** Only shows what it would leave, by code alone: nothing is stored or remembered, and no model is asked. Needs the request. */
  readonly preview?: boolean
  /** Only where the request has reached the threshold. */
  readonly ifDue?: boolean
}

export type Compaction =
  | { readonly status: 'done'; readonly epoch: string; readonly before: number; readonly after: number }
  /** Nothing could be gained. */
  | { readonly status: 'nothing'; readonly reason: string; readonly before: number; readonly after: number }
  /** The next `prepare` does it. */
  | { readonly status: 'with-next-request' }
  | CompactionPreview

export interface CompactionPreview extends Pick<Epoch, 'before' | 'after' | 'receipt'> {
  readonly status: 'preview'
  /** What would stand in the place of what it covers. */
  readonly record: readonly string[]
}

export interface SessionOptions {
  /** The session's name. Any text; it is never used as a path. */
  readonly id: string
  /** Agents of one session have their own windows, epochs and counters. @default 'main' */
  readonly agent?: string
  /** @default 'local' */
  readonly tenant?: string
  /** The API key that pays, for budgets per key and the ledger. Kept as a keyed hash. @default the tenant */
  readonly key?: string
}

/** A session: the calls of an agent loop, and what a user does with it. `Format`: names of the API formats that it accepts. */
export interface Session<Format extends string = string> {
  readonly id: string
  readonly agent: string
  readonly tenant: string
  /** Call it after a tool ran: returns what goes into the conversation. Results passed at the same time share the room that the turn has left. */
  toolResult(request: ToolResultRequest): Promise<ShownResult>
  /** Call it before a tool runs: whether its result would fit; if not, the text that answers the call instead. */
  canExecute(tool: string): Promise<MayRun>
  /** Call it before the model: returns the request that fits. */
  prepare<Body extends string | object>(request: PrepareRequest<Body, Format>): Promise<PreparedTurn<Body>>
  /** The request with the edits that already apply, without a new decision: for counting tokens. */
  standing(request: PrepareRequest<string | object, Format>): Promise<StandingView>
  /** Call it after the model answered. */
  record(request: RecordRequest & { readonly format?: Format }): Promise<RecordedTurn>
  /** Used, free, percent, threshold and turns left, from the last request. */
  status(): Promise<SessionStatus>
  /** Compacts, needed or not: at once when the request is given, else with the next `prepare`. */
  compact(options?: CompactOptions): Promise<Compaction>
  /** Undoes the current compaction: the next request is built without it. Returns its id, or undefined when there is none. */
  undo(): Promise<string | undefined>
  /** Items of the last request, to choose pins from. */
  items(): Promise<readonly SeenItem[]>
  /** A pinned item stays in view whatever is reduced. */
  pin(identity: string, pinned?: boolean): Promise<void>
  /** A new session with a copy of this one's log. */
  fork(id: string): Promise<Session<Format>>
  /** All shortened results and all compactions, oldest first. */
  audit(): Promise<readonly (Audit | Epoch)[]>
  /**
   * Searches the history of the last request, in view or not; the answer is bounded. Before this process's first request: searches the archive of
   * this agent.
   */
  recall(query: string, options?: RecallOptions): Promise<Recalled>
  /** What reader tools may open while a request with this history is answered. @default the history of the last request */
  scope(history?: ScopedHistory): Promise<HistoryScope>
  /** The whole session with its artifacts, as lines of text; `importSession` reads them. */
  export(): AsyncIterable<string>
}

/** For the gateway, which parses requests itself. */
export interface GatewaySession extends Session {
  prepareRead(request: ReadRequest): Promise<ReadyRequest>
  standingRead(request: ReadRequest): Promise<StandingView>
  /** Keeps in the log what became of a request. */
  note(what: Trouble, reason: string): Promise<void>
}

/** Longer than other functions: a line for each verb, around the two ways in which one is run. */
export function createSession(deps: () => Promise<EngineDeps>, options: SessionOptions): GatewaySession {
  const { id, agent = 'main', tenant = 'local', key } = options
  const inOrder = mutex()
  let known: Branch | undefined
  /** Rebuilt when the settings change the engine's parts. */
  let tolerant: (TolerantDeps & { readonly of: EngineDeps }) | undefined
  const branchOf = (engine: EngineDeps): Branch => {
    const owner = { tenant, session: id, agent, key: nameOfKey(engine, key), inOrder: runAnyway }
    return (known ??= newBranch(owner, engine))
  }
  /** Runs work in order, after reading what other processes wrote to the log. Fails when the store does. */
  const run = <T>(work: Work<T>): Promise<T> =>
    inOrder(async () => {
      const engine = await deps()
      const branch = branchOf(engine)
      await catchUp(engine, branch)
      await seedCalibration(engine, branch)
      return work(engine, branch)
    })
  /** The same for calls that an agent depends on: without the store they continue from memory, without a model. */
  const runAnyway = <T>(work: Work<T>, isGoingOn = false): Promise<T> =>
    inOrder(async () => {
      const all = await deps()
      const branch = branchOf(all)
      if (tolerant?.of !== all) tolerant = { of: all, ...tolerantDeps(all, branch) }
      const { deps: engine, isDown, begin } = tolerant
      begin()
      if (!branch.outbox.isEmpty) await flushOutbox(tolerant, branch)
      if (!isGoingOn) {
        await catchUp(engine, branch)
        if (branch.log.calibration === undefined) await seedCalibration(engine, branch)
      }
      try {
        return await work(isDown() ? { ...engine, summarizer: undefined } : engine, branch)
      } finally {
        // Answers from memory are looked up in the store next time.
        if (isDown()) branch.requests.forgetTrail()
        if (branch.outbox.isEmpty) all.outboxes?.delete(flush)
        else all.outboxes?.add(flush)
      }
    })
  const flush = (): Promise<boolean> => runAnyway(async (_, { outbox }) => outbox.isEmpty)
  return {
    id,
    agent,
    tenant,
    toolResult: together((requests) => runAnyway((engine, branch) => toolResults(engine, branch, requests))),
    canExecute: (tool) => runAnyway(async (engine, branch) => canExecute(engine, branch, tool)),
    prepare: async <Body extends string | object>(request: PrepareRequest<Body>) => {
      const ready = await runAnyway((engine, branch) =>
        prepareFor(key, engine, branch, readRequest(engine, branch, request)),
      )
      const { chosen: _, ...turn } = ready
      const body: unknown = typeof request.body === 'string' ? turn.text : JSON.parse(turn.text)
      return { ...turn, body } as PreparedTurn<Body>
    },
    prepareRead: (request) => runAnyway((engine, branch) => prepareFor(key, engine, branch, request)),
    standing: (request) =>
      runAnyway((engine, branch) => standingView(engine, branch, readRequest(engine, branch, request))),
    standingRead: (request) => runAnyway((engine, branch) => standingView(engine, branch, request)),
    // Without reading the log first: other processes' entries are read with the append, in the log's order.
    record: (request) => runAnyway((engine, branch) => record(engine, branch, request), true),
    note: (what, reason) =>
      runAnyway(
        (engine, branch) =>
          appendTo(engine, branch, [troubleRecord(engine, branch, what, reason)], { durable: 'soon' }),
        true,
      ),
    status: () => runAnyway((engine, branch) => statusOf(engine, branch)),
    compact: async (options = {}) =>
      options.preview === true
        ? preview(await deps(), { tenant, session: id, agent, inOrder: runAnyway }, options)
        : runAnyway((engine, branch) => compact(engine, branch, options)),
    undo: () => run((engine, branch) => undo(engine, branch)),
    items: () => run(async (_, { requests }) => (requests.last === undefined ? [] : seenItems(requests.last))),
    pin: (identity, pinned = true) => run((engine, branch) => pin(engine, branch, identity, pinned)),
    fork: async (to) => {
      await run((engine, branch) => fork(engine, branch, to))
      return createSession(deps, { id: to, agent, tenant })
    },
    audit: () => run((engine, branch) => audit(engine, branch)),
    recall: (query, wanted) => run((engine, branch) => recallIn(engine, branch, query, wanted)),
    scope: (history) =>
      run(async (engine, branch) =>
        historyScope(engine, branch, history ?? branch.requests.last ?? { items: [], links: [] }),
      ),
    async *export() {
      const { sessions, artifacts } = await run(async (engine) => engine)
      yield* exportStore(sessions, { tenant, session: id, artifacts })
    },
  }
}

const nameOfKey = ({ keyName }: EngineDeps, key: string | undefined): string | undefined =>
  key === undefined ? undefined : keyName?.(key)

/** @param key the session's own, which pays where the request names none. */
function prepareFor(
  key: string | undefined,
  engine: EngineDeps,
  branch: Branch,
  request: ReadRequest,
): Promise<ReadyRequest> {
  branch.key = nameOfKey(engine, request.key ?? key)
  return prepare(engine, branch, request)
}

type Work<T> = (engine: EngineDeps, branch: Branch) => Promise<T>

async function fork(deps: EngineDeps, branch: Branch, to: string): Promise<void> {
  // Writes the pending seed, so that a session without log entries can be forked too.
  if (branch.log.seed !== undefined) await appendTo(deps, branch, [])
  await forkSession(deps.sessions, deps.artifacts, { tenant: branch.tenant, from: branch.session, to })
}

async function recallIn(deps: EngineDeps, branch: Branch, query: string, options?: RecallOptions): Promise<Recalled> {
  const { last } = branch.requests
  if (last === undefined) return recallArchived(deps.sessions, branch, query, options)
  return recall({ ...last, redact: deps.redact }, query, options)
}

/** Longer instructions than this are a document, not a wish. */
const MOST_CHARACTERS = 4_000

/** Reduces whether it is needed or not: to low water, and below it to half of what there is. */
async function compact(deps: EngineDeps, branch: Branch, options: CompactOptions): Promise<Compaction> {
  const { request } = options
  const instructions = options.instructions?.trim().slice(0, MOST_CHARACTERS) ?? ''
  const asked = instructions === '' ? {} : { instructions }
  if (request === undefined) {
    // Through the log: the next request may come to another process.
    const about = { v: RECORD_VERSION, at: deps.clock.now(), agent: branch.agent, type: 'compaction-asked' } as const
    await appendTo(deps, branch, [{ ...about, ...asked }])
    return { status: 'with-next-request' }
  }
  if (options.ifDue !== true) branch.log.ask(asked)
  const turn = await prepare(deps, branch, readRequest(deps, branch, request))
  // Nothing is sent: the turn is closed, and what it held of the budgets let go.
  if (turn.verdict.kind !== 'halt') await discard(deps, branch, turn.id)
  const { newEpoch, loadBefore: before, loadAfter: after } = turn.report
  if (newEpoch !== undefined) return { status: 'done', epoch: newEpoch.id, before, after }
  return { status: 'nothing', reason: branch.log.refusal ?? 'there is no history', before, after }
}

/** In a branch of its own over stores that take nothing in, so that it can be asked for while a request is prepared. */
async function preview(engine: EngineDeps, owner: BranchOwner, options: CompactOptions): Promise<Compaction> {
  if (options.request === undefined)
    throw new PlimsollError('bad-input', 'A preview needs the request.', {
      advice: 'compact({ preview: true, request })',
    })
  let epoch: Epoch | undefined
  const { sessions, artifacts, clock } = engine
  const dry: EngineDeps = {
    ...engine,
    emit: () => {},
    hooks: undefined,
    summarizer: undefined,
    ledger: undefined,
    budgets: undefined,
    sessions: {
      ...sessions,
      append: async () => -1,
      claimEpoch: async (_tenant, session, made) => ({ session, epoch: (epoch = made), undoneIn: [] }),
      setValue: async (_tenant, _key, value) => value,
    },
    artifacts: {
      ...artifacts,
      reference: async () => {},
      put: async (tenant, bytes, meta = {}) => {
        const handle = engine.addressOf(tenant, bytes)
        return { ...meta, handle, bytes: bytes.length, sha256: '', createdAt: clock.now() }
      },
    },
  }
  const branch = newBranch(owner, dry)
  await catchUp(dry, branch)
  await seedCalibration(dry, branch)
  const made = await compact(dry, branch, options)
  if (made.status !== 'done' || epoch === undefined) return made
  const { before, after } = made
  return { status: 'preview', before, after, record: insertedTexts(epoch), receipt: epoch.receipt }
}

async function undo(deps: EngineDeps, branch: Branch): Promise<string | undefined> {
  const { tenant, session, agent, log } = branch
  if (log.epoch === undefined) return undefined
  const { id: epoch } = log.epoch
  const at = deps.clock.now()
  await appendTo(deps, branch, [{ v: RECORD_VERSION, at, agent, type: 'undo', epoch }])
  deps.emit({ type: 'epoch-undone', epoch, at, tenant, session, agent })
  return epoch
}

async function pin(deps: EngineDeps, branch: Branch, identity: string, pinned: boolean): Promise<void> {
  if (pinned && !branch.log.archived.has(identity)) {
    throw new PlimsollError('not-found', `This session has no item ${JSON.stringify(identity)}.`, {
      advice: 'items() lists the items of the last request with their identities.',
    })
  }
  const at = deps.clock.now()
  await appendTo(deps, branch, [{ v: RECORD_VERSION, at, agent: branch.agent, type: 'pin', identity, pinned }])
}

async function audit({ sessions }: EngineDeps, { tenant, session }: Branch): Promise<(Audit | Epoch)[]> {
  const found: (Audit | Epoch)[] = []
  for await (const { record: entry } of sessions.read(tenant, session))
    if ((entry.type === 'audit' && !isTrouble(entry)) || entry.type === 'epoch') found.push(entry)
  return found
}

/** Runs the calls of one tick together, each with its own outcome. */
function together(
  work: (requests: readonly ToolResultRequest[]) => Promise<readonly ToolOutcome[]>,
): (request: ToolResultRequest) => Promise<ShownResult> {
  let waiting: ToolResultRequest[] = []
  let next: Promise<readonly ToolOutcome[]> | undefined
  return async (request) => {
    // A copy, because outcomes are found by request object and a caller may pass one object twice.
    const index = waiting.push({ ...request }) - 1
    next ??= Promise.resolve().then(() => {
      const batch = waiting
      waiting = []
      next = undefined
      return work(batch)
    })
    const outcome = (await next)[index]!
    if ('error' in outcome) throw outcome.error
    return outcome.shown
  }
}

export interface SessionStatus {
  readonly model?: string
  /** Tokens of the next request so far: the measured prompt and answer of the last one plus later results; without a measurement, an upper bound. */
  readonly used: number
  readonly limit: number
  readonly window: number
  readonly available: number
  /** Share of `limit` that is used. */
  readonly percent: number
  /** The load at which the next compaction starts. */
  readonly threshold: number
  /** Calls until `threshold` at the session's average growth; absent without enough history. */
  readonly turnsRemaining?: number
  readonly turns: number
  readonly epoch?: string
  readonly pins: number
  /** All calls of the session, by all agents and processes, summaries included. */
  readonly spent: LedgerTotals
  /** Input and output of the last turn, and the average of all. */
  readonly lastTurn?: TurnUsage & { readonly average: number }
  /** Input: …", or that | "Turn 5 | Input: …", or a sentence that there were no turns. */
  readonly report: string
  /** The budgets that apply to this session, with what is spent of them. */
  readonly budgets: readonly BudgetStanding[]
}

async function statusOf(deps: EngineDeps, branch: Branch): Promise<SessionStatus> {
  const { log, requests } = branch
  const model = modelOf(branch)
  const used = nextLoad(branch)
  const lastLimit = limitOf(branch)
  const limit = lastLimit?.tokens ?? 0
  const threshold = lastLimit === undefined ? 0 : Math.floor(highWater(deps.policy, lastLimit, log.cacheIsWarm))
  const lastTurn = log.calls.lastTurn(branch.tenant, branch.session)
  const turnsRemaining = turnsUntil(threshold - used, requests.growth)
  return {
    model,
    used,
    limit,
    window: lastLimit?.window ?? 0,
    available: Math.max(0, limit - used),
    percent: limit === 0 ? 0 : Math.round((1000 * used) / limit) / 10,
    threshold,
    turnsRemaining,
    turns: Math.max(log.turns, branch.turns.count),
    epoch: log.epoch?.id,
    pins: log.pins.size,
    spent: log.calls.totals(),
    lastTurn,
    report: log.calls.report(branch.tenant, branch.session),
    budgets: (await deps.budgets?.standing(spenderOf(branch), deps.clock.now(), deps.policyBudgets)) ?? [],
  }
}

/** The next request contains the last prompt, its answer and the results since. */
function nextLoad({ log, requests, toolUse }: Branch): number {
  const { measured } = log
  const { last } = requests
  const isMeasured = measured !== undefined && (last === undefined || last.links.at(-1)?.chain === measured.chain)
  const known = isMeasured ? measured.prompt + measured.output : Math.ceil(last?.load.count.high ?? 0)
  return known + Math.ceil(toolUse.turn?.all ?? 0)
}

export interface SeenItem {
  readonly identity: string
  readonly kind: string
  readonly toolName?: string
  /** The first characters. */
  readonly excerpt: string
}

const seenItems = ({ items, links }: ChainedItems): SeenItem[] =>
  links.map(({ identity, index }) => {
    const { kind, toolName, text } = items[index]!
    return { identity, kind, toolName, excerpt: text.slice(0, 80) }
  })
