import { PlimsollError } from '../core/errors.ts'
import { RECORD_VERSION, type Audit, type Epoch } from '../core/records.ts'
import { newBranch, type Branch, type SeenItem } from './branch.ts'
import { settleOwed, tolerantDeps } from './degraded.ts'
import type { EngineDeps } from './deps.ts'
import { seedCalibration } from './learn.ts'
import { prepare, type PreparedTurn, type PrepareRequest } from './prepare.ts'
import { record, type RecordedTurn, type RecordRequest } from './record.ts'
import { recall, type Recalled, type RecallOptions } from './recall.ts'
import { appendTo, catchUp } from './restore.ts'
import { exportStore } from './store-export.ts'
import { statusOf, type SessionStatus } from './status.ts'
import { toolResult, type ShownResult, type ToolResultRequest } from './tool-result.ts'

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

/** The three verbs, and what a person does to a session. */
export interface Session {
  readonly id: string
  readonly agent: string
  /** After a tool ran: what goes into the conversation. */
  toolResult(request: ToolResultRequest): Promise<ShownResult>
  /** Before the model is called: the request that fits. */
  prepare(request: PrepareRequest): Promise<PreparedTurn>
  /** After the model answered. */
  record(request: RecordRequest): Promise<RecordedTurn>
  /** Used, free, percent, threshold and turns left, from the last request. */
  status(): Promise<SessionStatus>
  /** The next `prepare` declares an epoch, whether it is needed or not. */
  compact(): Promise<void>
  /** Takes the standing epoch back: the next request is built as if it had never been. Its id, or undefined without one. */
  undo(): Promise<string | undefined>
  /** Items of the last request, to choose pins from. */
  items(): Promise<readonly SeenItem[]>
  /** A pinned item stays in view whatever is reduced. */
  pin(identity: string, pinned?: boolean): Promise<void>
  /** A new session that begins with everything this one knows. */
  fork(id: string): Promise<Session>
  /** Every cut and every epoch, oldest first. */
  audit(): Promise<readonly (Audit | Epoch)[]>
  /** Searches what this conversation has shown, in view or not; the answer is bounded. */
  recall(query: string, options?: RecallOptions): Promise<Recalled>
  /** The whole session with its artifacts, as lines of text; `importSession` reads them. */
  export(): AsyncIterable<string>
}

export function createSession(deps: () => Promise<EngineDeps>, options: SessionOptions): Session {
  const { id, agent = 'main', tenant = 'local', key } = options
  const branch: Branch = newBranch(tenant, id, agent)
  const nameKey = ({ keyName }: EngineDeps): void => {
    if (key !== undefined && keyName !== undefined) branch.key ??= keyName(key)
  }
  const inOrder = queue()
  /** One writer per branch, on a branch that knows its log, other processes' records included. */
  const run = <T>(work: (engine: EngineDeps) => Promise<T>): Promise<T> =>
    inOrder(async () => {
      const engine = await deps()
      nameKey(engine)
      await catchUp(engine, branch)
      await seedCalibration(engine, branch)
      return work(engine)
    })
  /** The same for what an agent cannot wait for: without the store it goes on from memory, by code alone. */
  const runAnyway = <T>(work: (engine: EngineDeps) => Promise<T>): Promise<T> =>
    inOrder(async () => {
      const tolerant = tolerantDeps(await deps(), branch)
      nameKey(tolerant.deps)
      const { deps: engine } = tolerant
      await settleOwed(tolerant, branch)
      await catchUp(engine, branch)
      await seedCalibration(engine, branch)
      const { summarizer: _, ...modelFree } = engine
      return work(tolerant.isDown() ? modelFree : engine)
    })
  return {
    id,
    agent,
    toolResult: (request) => runAnyway((engine) => toolResult(engine, branch, request)),
    prepare: async (request) => {
      const turn = await runAnyway((engine) => prepare(engine, branch, request))
      void inOrder(() => settleLater(branch))
      return turn
    },
    record: (request) => runAnyway((engine) => record(engine, branch, request)),
    status: () => runAnyway((engine) => statusOf(engine, branch)),
    compact: () => run(async () => void (branch.compactRequested = true)),
    undo: () => run((engine) => undo(engine, branch)),
    items: () => run(async () => branch.items),
    pin: (identity, pinned = true) => run((engine) => pin(engine, branch, identity, pinned)),
    fork: (to) =>
      run(async (engine) => {
        await engine.sessions.fork(tenant, id, to)
        return createSession(deps, { id: to, agent, tenant })
      }),
    audit: () => run((engine) => audit(engine, branch)),
    recall: (query, wanted) => run((engine) => recall(engine.sessions, branch, query, wanted)),
    async *export() {
      const { sessions, artifacts } = await run(async (engine) => engine)
      yield* exportStore(sessions, { tenant, session: id, artifacts })
    },
  }
}

async function undo(deps: EngineDeps, branch: Branch): Promise<string | undefined> {
  const { epoch } = branch
  if (epoch === undefined) return undefined
  const at = deps.clock.now()
  await appendTo(deps, branch, [{ v: RECORD_VERSION, at, agent: branch.agent, type: 'undo', epoch: epoch.id }])
  deps.emit({
    type: 'epoch-undone',
    epoch: epoch.id,
    at,
    tenant: branch.tenant,
    session: branch.session,
    agent: branch.agent,
  })
  return epoch.id
}

async function pin(deps: EngineDeps, branch: Branch, identity: string, pinned: boolean): Promise<void> {
  if (pinned && !branch.archived.has(identity)) {
    throw new PlimsollError('not-found', `This session has no item ${JSON.stringify(identity)}.`, {
      advice: 'items() lists the items of the last request with their identities.',
    })
  }
  const at = deps.clock.now()
  await appendTo(deps, branch, [{ v: RECORD_VERSION, at, agent: branch.agent, type: 'pin', identity, pinned }])
}

async function audit(deps: EngineDeps, branch: Branch): Promise<(Audit | Epoch)[]> {
  const found: (Audit | Epoch)[] = []
  for await (const { record: entry } of deps.sessions.read(branch.tenant, branch.session)) {
    if (entry.type === 'audit' || entry.type === 'epoch') found.push(entry)
  }
  return found
}

/** A request that could not be archived is archived with the next one: the client sends all of it again. */
async function settleLater(branch: Branch): Promise<void> {
  const { later } = branch
  if (later === undefined) return
  delete branch.later
  // The request leaves first: writing to a disk holds this process up.
  await new Promise((resolve) => setImmediate(resolve))
  await later().catch(() => undefined)
}

/** Calls that overlap run one after another, in the order in which they came. */
function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = tail.then(work, work)
    tail = next.catch(() => undefined)
    return next
  }
}
