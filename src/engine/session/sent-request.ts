import { RECORD_VERSION, type RequestSent } from '../../core/records.ts'
import type { EngineDeps } from '../deps.ts'
import type { PrepareContext } from '../prepare/context.ts'
import type { Branch } from './branch/branch.ts'
import type { HandedOut } from './branch/branch-log.ts'
import type { OpenTurn } from './branch/open-turns.ts'

/**
 * How the same request was sent before: to the same model, under the same epoch and with no more room. It is sent again as it was: a
 * process that has just started may count or judge it otherwise than the one that sent it, and must not rewrite it for that.
 */
export function sentBefore(
  { branch, links, target, limit }: PrepareContext,
  epoch: string | undefined,
): HandedOut | undefined {
  const before = branch.log.handedOut.get(links.at(-1)?.chain ?? '')
  if (before?.limitTokens === undefined || before.limitTokens > limit.tokens) return undefined
  const isSamePlace = before.model === target.model && before.endpoint === target.endpoint
  return isSamePlace && before.epoch === epoch ? before : undefined
}

/** What the log is told about a request that leaves; nothing where it says so already. */
export function sentRecords(context: PrepareContext, epoch: string | undefined, isClosing: boolean): RequestSent[] {
  const { deps, branch, links, target, limit } = context
  const before = sentBefore(context, epoch)
  if (before !== undefined && before.limitTokens === limit.tokens && before.isClosing === isClosing) return []
  const { model, endpoint } = target
  return [
    {
      v: RECORD_VERSION,
      at: deps.clock.now(),
      agent: branch.agent,
      type: 'request-sent',
      chain: links.at(-1)?.chain ?? '',
      model,
      ...(endpoint !== undefined && { endpoint }),
      ...(epoch !== undefined && { epoch }),
      limit: limit.tokens,
      ...(isClosing && { closing: true }),
    },
  ]
}

/** Takes back what the log says about a request that was handed out and got no answer. */
export function refusalOf({ clock }: EngineDeps, { agent, log }: Branch, turn: OpenTurn): RequestSent[] {
  const { model, endpoint, limit, measured } = turn
  const sent = log.handedOut.get(measured.chain)
  if (sent === undefined || sent.isAnswered) return []
  return [
    {
      v: RECORD_VERSION,
      at: clock.now(),
      agent,
      type: 'request-sent',
      chain: measured.chain,
      model,
      ...(endpoint !== undefined && { endpoint }),
      limit: limit.tokens,
      refused: true,
    },
  ]
}
