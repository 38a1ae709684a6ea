import type { Limit } from '../../../core/target.ts'
import type { Spender } from '../../../meter/index.ts'
import type { Writable } from '../../../util/writable.ts'
import { BranchMemo } from '../../memo/branch-memo.ts'
import type { EngineDeps } from '../../deps.ts'
import { formOf } from './archived-forms.ts'
import { BackgroundSlot } from './background-slot.ts'
import { branchLog, type BranchLog } from './branch-log.ts'
import { CompactWish } from './compact-wish.ts'
import { LastRequest } from './last-request.ts'
import { OpenTurns } from './open-turns.ts'
import { Outbox } from './outbox.ts'
import { SessionArtifacts } from './session-artifacts.ts'
import { StandingEpoch } from './standing-epoch.ts'
import { ToolUse } from './tool-use.ts'

/**
 * What a session remembers in memory about one agent's line of work. Everything here can be rebuilt from the log or the
 * next request; losing it costs a look-up, never a byte.
 *
 * It is a set of records. Each is one file of this folder, changes only by its own named methods, and is read-only otherwise;
 * `test/engine/one-writer.test.ts` holds which modules may call those methods.
 */
export interface Branch extends BranchOwner {
  /** Runs work in its order among the session's calls. */
  readonly inOrder: InOrder
  /** What the session's log says. */
  readonly log: BranchLog
  /** The epoch that requests stand under. */
  readonly standing: StandingEpoch
  /** The last request of this process, and what it sent before. */
  readonly requests: LastRequest
  /** Prepared requests without an answer yet. */
  readonly turns: OpenTurns
  readonly artifacts: SessionArtifacts
  readonly toolUse: ToolUse
  /** What could not be written while the store was away. */
  readonly outbox: Outbox
  /** A reduction that a person asked for. */
  readonly wish: CompactWish
  /** A summary that is written in the background. */
  readonly background: BackgroundSlot
  /** Memory of work. */
  readonly memo: BranchMemo
}

export interface BranchOwner {
  readonly tenant: string
  readonly session: string
  readonly agent: string
  /** Who pays, when that is not the tenant: the name of an API key, never the key. */
  readonly key?: string
}

export type InOrder = <T>(work: (engine: EngineDeps) => Promise<T>) => Promise<T>

export function newBranch(owner: BranchOwner, inOrder: InOrder, deps: Pick<EngineDeps, 'hash' | 'redact'>): Branch {
  const { tenant, session, agent, key } = owner
  // Field by field, so that the branches of all sessions have one shape: every request reads its own again and again.
  const branch: Writable<Branch> = {
    tenant,
    session,
    agent,
    inOrder,
    log: branchLog(owner, (fragment) => formOf(deps, fragment)),
    standing: new StandingEpoch(),
    requests: new LastRequest(),
    turns: new OpenTurns(),
    artifacts: new SessionArtifacts(),
    toolUse: new ToolUse(),
    outbox: new Outbox(),
    wish: new CompactWish(),
    background: new BackgroundSlot(),
    memo: new BranchMemo(),
  }
  if (key !== undefined) branch.key = key
  return branch
}

/** Whether a history was sent before: a resend or rewind, not something new. */
export const wasSent = ({ log, requests }: Pick<Branch, 'log' | 'requests'>, chain: string): boolean =>
  log.sent.has(chain) || requests.sent.has(chain)

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
