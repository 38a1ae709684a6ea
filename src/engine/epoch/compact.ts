import { RECORD_VERSION } from '../../core/records.ts'
import type { Branch } from '../session/branch.ts'
import type { EngineDeps } from '../deps.ts'
import { readRequest } from '../prepare/open.ts'
import { prepare, type PrepareRequest } from '../prepare/prepare.ts'
import { discard } from '../session/record.ts'
import { appendTo } from '../session/log.ts'

export interface CompactOptions {
  /** What the summary should hold: it reaches the model that writes it, and stays in view beside the summary. */
  readonly instructions?: string
  /** The conversation as it would be sent now. With it the reduction happens at once; without it, with the next `prepare`. */
  readonly request?: PrepareRequest
}

export type Compaction =
  | { readonly status: 'done'; readonly epoch: string; readonly before: number; readonly after: number }
  /** Nothing could be gained. */
  | { readonly status: 'nothing'; readonly reason: string; readonly before: number; readonly after: number }
  /** The next `prepare` does it. */
  | { readonly status: 'with-next-request' }

/** Longer instructions than this are a document, not a wish. */
const MOST_CHARACTERS = 4_000

/** Reduces whether it is needed or not: to low water, and below it to half of what there is. */
export async function compact(deps: EngineDeps, branch: Branch, options: CompactOptions): Promise<Compaction> {
  const { request } = options
  const instructions = options.instructions?.trim().slice(0, MOST_CHARACTERS) ?? ''
  const asked = instructions === '' ? {} : { instructions }
  if (request === undefined) {
    // Through the log: the next request may come to another process.
    const about = { v: RECORD_VERSION, at: deps.clock.now(), agent: branch.agent, type: 'compaction-asked' } as const
    await appendTo(deps, branch, [{ ...about, ...asked }])
    return { status: 'with-next-request' }
  }
  branch.log.ask(asked)
  const turn = await prepare(deps, branch, readRequest(deps, branch, request))
  // Nothing is sent: the turn is closed, and what it held of the budgets let go.
  if (turn.verdict.kind !== 'halt') await discard(deps, branch, turn.id)
  const { newEpoch, loadBefore: before, loadAfter: after } = turn.report
  if (newEpoch !== undefined) return { status: 'done', epoch: newEpoch.id, before, after }
  return { status: 'nothing', reason: branch.log.refusal ?? 'there is no history', before, after }
}
