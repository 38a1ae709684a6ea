import type { Branch } from './branch.ts'
import { newBranch } from './branch.ts'
import type { EngineDeps } from './deps.ts'
import { prepare, type PreparedTurn, type PrepareRequest } from './prepare.ts'
import { record, type RecordedTurn, type RecordRequest } from './record.ts'
import { toolResult, type ShownResult, type ToolResultRequest } from './tool-result.ts'

export interface SessionOptions {
  /** Names the log. Any text; it never becomes a path. */
  readonly id: string
  /** Agents of one session have their own windows, epochs and counters. @default 'main' */
  readonly agent?: string
  /** @default 'local' */
  readonly tenant?: string
}

/** The three verbs. */
export interface Session {
  readonly id: string
  readonly agent: string
  /** After a tool ran: what goes into the conversation. */
  toolResult(request: ToolResultRequest): Promise<ShownResult>
  /** Before the model is called: the request that fits. */
  prepare(request: PrepareRequest): Promise<PreparedTurn>
  /** After the model answered. */
  record(request: RecordRequest): Promise<RecordedTurn>
}

export function createSession(deps: () => Promise<EngineDeps>, options: SessionOptions): Session {
  const { id, agent = 'main', tenant = 'local' } = options
  const branch: Branch = newBranch(tenant, id, agent)
  const inOrder = queue()
  return {
    id,
    agent,
    toolResult: (request) => inOrder(async () => toolResult(await deps(), branch, request)),
    prepare: (request) => inOrder(async () => prepare(await deps(), branch, request)),
    record: (request) => inOrder(async () => record(await deps(), branch, request)),
  }
}

/** One writer per branch: calls that overlap run one after another, in the order in which they came. */
function queue(): <T>(work: () => Promise<T>) => Promise<T> {
  let tail: Promise<unknown> = Promise.resolve()
  return (work) => {
    const next = tail.then(work, work)
    tail = next.catch(() => undefined)
    return next
  }
}
