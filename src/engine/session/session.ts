import { PlimsollError } from '../../core/errors.ts'
import { RECORD_VERSION, type Audit, type Epoch } from '../../core/records.ts'
import { newBranch, type Branch, limitOf, modelOf, spenderOf, turnsUntil, type ChainedItems } from './branch.ts'
import { compact, type Compaction, type CompactOptions } from '../epoch/compact.ts'
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
import { record, type RecordedTurn, type RecordRequest } from './record.ts'
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
import type { ToolBudget } from '../tool-results/tool-budget.ts'
import { readRequest } from '../prepare/open.ts'
import type { BudgetStanding, LedgerTotals, TurnUsage } from '../../meter/index.ts'
import { highWater } from '../epoch/thresholds.ts'

export interface SessionOptions {
  /** Names the log. Any text; it never becomes a path. */
  readonly id: string
  /** Agents of one session have their own windows, epochs and counters. @default 'main' */
  readonly agent?: string
  /** @default 'local' */
  readonly tenant?: string
  /** The API key that pays, for budgets per key and the ledger. Kept as a keyed hash. @default the tenant */
  readonly key?: string
}

/** The three verbs, and what a person does to a session. `Format`: names of the API formats that it reads. */
export interface Session<Format extends string = string> {
  readonly id: string
  readonly agent: string
  readonly tenant: string
  /** After a tool ran: what goes into the conversation. Results that are handed over at once share what the turn has left. */
  toolResult(request: ToolResultRequest): Promise<ShownResult>
  /** Before a tool runs: whether its result could still be shown; else the text that answers the call in its place. */
  canExecute(tool: string): ReturnType<ToolBudget['canExecute']>
  /** Before the model is called: the request that fits. */
  prepare<Body extends string | object>(request: PrepareRequest<Body, Format>): Promise<PreparedTurn<Body>>
  /** The request under the edits that stand, without deciding anything new: what a count is about. */
  standing(request: PrepareRequest<string | object, Format>): Promise<StandingView>
  /** After the model answered. */
  record(request: RecordRequest & { readonly format?: Format }): Promise<RecordedTurn>
  /** Used, free, percent, threshold and turns left, from the last request. */
  status(): Promise<SessionStatus>
  /** Reduces, whether it is needed or not: at once when the request is given, else with the next `prepare`. */
  compact(options?: CompactOptions): Promise<Compaction>
  /** Takes the standing epoch back: the next request is built as if it had never been. Its id, or undefined without one. */
  undo(): Promise<string | undefined>
  /** Items of the last request, to choose pins from. */
  items(): Promise<readonly SeenItem[]>
  /** A pinned item stays in view whatever is reduced. */
  pin(identity: string, pinned?: boolean): Promise<void>
  /** A new session that begins with everything this one knows. */
  fork(id: string): Promise<Session<Format>>
  /** Every cut and every epoch, oldest first. */
  audit(): Promise<readonly (Audit | Epoch)[]>
  /**
   * Searches the history of the last request, in view or not; the answer is bounded. Before the first request of this process: what the
   * archive holds of this agent.
   */
  recall(query: string, options?: RecallOptions): Promise<Recalled>
  /** What readers may look up while a request with this history is answered. @default the history of the last request */
  scope(history?: ScopedHistory): Promise<HistoryScope>
  /** The whole session with its artifacts, as lines of text; `importSession` reads them. */
  export(): AsyncIterable<string>
}

/** The same for the gateway, which reads a request itself. */
export interface GatewaySession extends Session {
  prepareRead(request: ReadRequest): Promise<ReadyRequest>
  standingRead(request: ReadRequest): Promise<StandingView>
}

export function createSession(deps: () => Promise<EngineDeps>, options: SessionOptions): GatewaySession {
  const { id, agent = 'main', tenant = 'local', key } = options
  const inOrder = mutex()
  let known: Branch | undefined
  /** Made once for the engine's parts, which change with the settings. */
  let tolerant: (TolerantDeps & { readonly of: EngineDeps }) | undefined
  const branchOf = (engine: EngineDeps): Branch => {
    const owner = { tenant, session: id, agent, key: key === undefined ? undefined : engine.keyName?.(key) }
    return (known ??= newBranch(owner, (work) => runAnyway(work), engine))
  }
  /** One writer per branch, on a branch that knows its log, other processes' records included. */
  const run = <T>(work: Work<T>): Promise<T> =>
    inOrder(async () => {
      const engine = await deps()
      const branch = branchOf(engine)
      await catchUp(engine, branch)
      await seedCalibration(engine, branch)
      return work(engine, branch)
    })
  /** The same for what an agent cannot wait for: without the store it goes on from memory, by code alone. */
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
        // What memory answered in the store's place is asked again.
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
    canExecute: (tool) => runAnyway((engine, branch) => canExecute(engine, branch, tool)),
    // What goes out is what came in, with edits inside it.
    prepare: async <Body extends string | object>(request: PrepareRequest<Body>) => {
      const ready = await runAnyway((engine, branch) => prepare(engine, branch, readRequest(engine, branch, request)))
      const { chosen: _, splices: __, ...turn } = ready
      const body: unknown = typeof request.body === 'string' ? turn.text : JSON.parse(turn.text)
      return { ...turn, body } as PreparedTurn<Body>
    },
    prepareRead: (request) => runAnyway((engine, branch) => prepare(engine, branch, request)),
    standing: (request) =>
      runAnyway((engine, branch) => standingView(engine, branch, readRequest(engine, branch, request))),
    standingRead: (request) => runAnyway((engine, branch) => standingView(engine, branch, request)),
    // From what its request knew: what another process wrote since is taken in with the append, in the order of the log.
    record: (request) => runAnyway((engine, branch) => record(engine, branch, request), true),
    status: () => runAnyway((engine, branch) => statusOf(engine, branch)),
    compact: (options = {}) => runAnyway((engine, branch) => compact(engine, branch, options)),
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

type Work<T> = (engine: EngineDeps, branch: Branch) => Promise<T>

async function fork(deps: EngineDeps, branch: Branch, to: string): Promise<void> {
  // A session that has written nothing yet can be forked all the same.
  if (branch.log.seed !== undefined) await appendTo(deps, branch, [])
  await forkSession(deps.sessions, deps.artifacts, { tenant: branch.tenant, from: branch.session, to })
}

async function recallIn(deps: EngineDeps, branch: Branch, query: string, options?: RecallOptions): Promise<Recalled> {
  const { last } = branch.requests
  if (last === undefined) return recallArchived(deps.sessions, branch, query, options)
  return recall({ ...last, redact: deps.redact }, query, options)
}

async function undo(deps: EngineDeps, branch: Branch): Promise<string | undefined> {
  const { tenant, session, agent, standing } = branch
  if (standing.epoch === undefined) return undefined
  const { id: epoch } = standing.epoch
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
    if (entry.type === 'audit' || entry.type === 'epoch') found.push(entry)
  return found
}

/** Calls that come while one is about to run are answered together, each with its own outcome. */
function together(
  work: (requests: readonly ToolResultRequest[]) => Promise<readonly ToolOutcome[]>,
): (request: ToolResultRequest) => Promise<ShownResult> {
  let waiting: ToolResultRequest[] = []
  let next: Promise<readonly ToolOutcome[]> | undefined
  return async (request) => {
    // A caller may hand over the same object twice.
    const place = waiting.push({ ...request }) - 1
    next ??= Promise.resolve().then(() => {
      const batch = waiting
      waiting = []
      next = undefined
      return work(batch)
    })
    const outcome = (await next)[place]!
    if ('error' in outcome) throw outcome.error
    return outcome.shown
  }
}

export interface SessionStatus {
  readonly model?: string
  /** How full the next request is, in tokens: what was measured of the last one and its answer, and what came since; else an upper bound. */
  readonly used: number
  readonly limit: number
  readonly available: number
  /** Share of `limit` that is used. */
  readonly percent: number
  /** Load at which the next reduction starts. */
  readonly threshold: number
  /** Calls until then at the pace of the session so far; absent without enough history. */
  readonly turnsRemaining?: number
  readonly turns: number
  readonly epoch?: string
  readonly pins: number
  /** All calls of the session, of every agent and every process, summaries included. */
  readonly spent: LedgerTotals
  /** Input and output of the last turn, and the average of all. */
  readonly lastTurn?: TurnUsage & { readonly average: number }
  /** "Turn 5 | Input: …", or that there were none. */
  readonly report: string
  /** How the budgets stand that this session draws on. */
  readonly budgets: readonly BudgetStanding[]
}

async function statusOf(deps: EngineDeps, branch: Branch): Promise<SessionStatus> {
  const { log, requests, standing } = branch
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
    available: Math.max(0, limit - used),
    percent: limit === 0 ? 0 : Math.round((1000 * used) / limit) / 10,
    threshold,
    turnsRemaining,
    turns: Math.max(log.turns, branch.turns.count),
    epoch: standing.epoch?.id,
    pins: log.pins.size,
    spent: log.calls.totals(),
    lastTurn,
    report: log.calls.report(branch.tenant, branch.session),
    budgets: (await deps.budgets?.standing(spenderOf(branch), deps.clock.now(), deps.policyBudgets)) ?? [],
  }
}

/** The last prompt and its answer come back with the next request; results that were shown since are added to it. */
function nextLoad({ log, requests, toolUse }: Branch): number {
  const { measured } = log
  const { last } = requests
  const isMeasured = measured !== undefined && (last === undefined || last.links.at(-1)?.chain === measured.chain)
  const known = isMeasured ? measured.prompt + measured.output : Math.ceil(last?.load.count.high ?? 0)
  return known + Math.ceil(toolUse.turn?.all ?? 0)
}

/** What a person sees of an item when choosing what to pin. */
export interface SeenItem {
  readonly identity: string
  readonly kind: string
  readonly toolName?: string
  /** The first characters. */
  readonly excerpt: string
}

/** Items of the last request. */
const seenItems = ({ items, links }: ChainedItems): SeenItem[] =>
  links.map(({ identity, index }) => {
    const { kind, toolName, text } = items[index]!
    return { identity, kind, toolName, excerpt: text.slice(0, 80) }
  })
