import { sharedLinks } from '../../../core/chain.ts'
import { PlimsollError } from '../../../core/errors.ts'
import type { Target } from '../../../core/target.ts'
import { modelName } from '../../../core/model-name.ts'
import { codecFor } from '../../codec-for.ts'
import type { EngineDeps } from '../../deps.ts'
import { mayBeCached, openOffer, readersFor } from '../../readers/offered-tools.ts'
import type { Branch } from '../../session/branch/branch.ts'
import type { ContextRequest, PrepareContext } from '../context.ts'
import { countAhead, isLong } from './count-ahead.ts'
import { limitsOf } from '../limits.ts'
import { openLimit } from '../output-reserve.ts'
import { chooseTarget } from './choose-target.ts'
import type { PrepareRequest } from '../prepared-turn.ts'
import { yieldNow } from '../../../util/yield-now.ts'

/** A request that was read: what came in, where it goes and what fits there. */
export interface Opened {
  readonly request: PrepareRequest
  readonly context: PrepareContext
}

/** Reads the body, makes ready whatever counts its tokens, and chooses among several targets. */
export function open(deps: EngineDeps, branch: Branch, request: PrepareRequest): Promise<PrepareContext> {
  const { targets = [] } = request
  if (targets.length < 2) return openContext(deps, branch, request)
  return chooseTarget(deps, branch, { ...request, targets }, openContext)
}

export async function openContext(deps: EngineDeps, branch: Branch, request: ContextRequest): Promise<PrepareContext> {
  const codec = codecFor(deps, request.format)
  const text = typeof request.body === 'string' ? request.body : textOf(request.body)
  const decoded = request.conversation ?? deps.memo.bodies.decode(branch.tenant, codec, text)
  const target = named(request.targets?.[0] ?? { model: decoded.settings.model ?? 'unknown' })
  const { limit, conversation } = openLimit(deps.policy, decoded, limitsOf(deps, target, decoded))
  const links = deps.memo.chain(conversation.items, (item) => codec.quoted(conversation, item))
  const { calibration, decisions, sealedTokens, isExact } = branch.log
  const trail = branch.requests.trail(decisions)
  const shared = trail === undefined ? 0 : sharedLinks(trail.links, links)
  if (deps.loadTokenizer !== undefined) await deps.loadTokenizer(target.model)
  // Nothing that another session loaded decides here.
  const isSharp = deps.loadTokenizer !== undefined || (isExact && (await deps.sharpen?.(target.model)) === true)
  const { model, endpoint } = target
  const gauge = { model, endpoint, owner: branch.tenant, estimated: !isSharp, hidden: sealedTokens, calibration }
  const send = request.send ?? request.sendTo?.(target)
  const pause = yieldNow(SLICE_MS)
  const knownItems = (links[shared - 1]?.index ?? -1) + 1
  if (isLong(conversation, knownItems)) await countAhead(deps, gauge, conversation, knownItems, pause)
  const room = { limit: limit.tokens, isCached: mayBeCached(deps, branch.log, target) }
  const offer = openOffer(deps, gauge, conversation, room, request.tools)
  return {
    deps,
    branch,
    codec,
    text,
    bytes: conversation.bytes ?? Buffer.byteLength(text),
    conversation,
    links,
    known: { items: knownItems, links: shared },
    target,
    gauge,
    limit,
    offer,
    readers: readersFor(conversation, offer.withEdits),
    // No getter: an object that has one gets a shape of its own, which holds on to this request until the next full collection.
    epochReaders: () => readersFor(conversation, offer.withEpoch()),
    expectedCalls: request.expectedCalls,
    send,
    pause,
    emit: (body) => {
      const { tenant, session, agent } = branch
      deps.emit({ ...body, at: deps.clock.now(), tenant, session, agent })
    },
  }
}

function named(target: Target): Target {
  const model = modelName(target.model)
  return model === target.model ? target : { ...target, model }
}

/** Most requests are ready before: only long ones let others pass. */
const SLICE_MS = 20

/** @throws PlimsollError `bad-input` for what JSON cannot say. */
function textOf(body: object): string {
  try {
    return JSON.stringify(body)
  } catch (cause) {
    const [reason] = (cause as Error).message.split('\n')
    throw new PlimsollError('bad-input', `The body cannot be written as JSON: ${reason}.`, {
      advice: 'Circles and BigInt have no place in a request.',
      cause,
    })
  }
}
