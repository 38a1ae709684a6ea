import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { sharedLinks } from '../../core/chain.ts'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import type { EventBody } from '../../core/events.ts'
import { modelName } from '../../core/model-name.ts'
import type { Target } from '../../core/target.ts'
import { codecFor, type EngineDeps } from '../deps.ts'
import { designOf } from '../presets/design.ts'
import { mayBeCached, openOffer, readersFor } from '../readers/offered-tools.ts'
import { neededOutput, type Branch } from '../session/branch.ts'
import type { Opened, PrepareRequest, ReadRequest } from './context.ts'
import { countAhead, isOver, limitFor, settleRefusal, SLICE_CHARACTERS } from './counting.ts'
import { finalStepOf, isUsedUp } from './permit.ts'
import { findStanding } from './standing.ts'
import { viewOf } from './view.ts'

/** What the verb `prepare` is given, read. @throws PlimsollError `bad-input` */
export function readRequest(
  deps: EngineDeps,
  branch: Branch,
  { format, body, targets = [], send, expectedCalls, tools }: PrepareRequest,
): ReadRequest {
  const codec = codecFor(deps, format)
  const text = typeof body === 'string' ? body : textOf(body)
  const conversation = decoded(deps, branch, codec, text)
  const links = deps.memo.chain(conversation.items)
  return { codec, text, conversation, links, targets, expectedCalls, tools, sendTo: () => send }
}

function decoded(deps: EngineDeps, { tenant, session, agent, log }: Branch, codec: Codec, text: string): Conversation {
  try {
    return deps.memo.bodies.decode(tenant, codec, text)
  } catch (error) {
    const lines = designOf(deps.policy).log?.unread?.(text, log.measured?.prompt) ?? []
    for (const body of lines) deps.emit({ ...body, at: deps.clock.now(), tenant, session, agent })
    throw error
  }
}

/**
 * Asks every target in order: the first on which the request fits as it stands gets it, and those before it are skipped. Where it fits on none,
 * the one with the most room loses least.
 */
export async function open(deps: EngineDeps, branch: Branch, request: ReadRequest): Promise<Opened> {
  const { conversation, targets } = request
  if (targets.length < 2)
    return openAt(deps, branch, request, 0, targets[0] ?? { model: conversation.settings.model ?? 'unknown' })
  const skipped: (() => void)[] = []
  let roomiest: Opened | undefined
  let failed: unknown
  for (const [place, target] of targets.entries()) {
    const opened = await openAt(deps, branch, request, place, target).catch((error: unknown) => {
      if (!isPlimsollError(error, 'limit-not-positive')) throw error
      failed = error
      return undefined
    })
    if (opened === undefined) continue
    const { context, found } = opened
    const view = viewOf(context, found)
    const { load } = view
    const isClosed = finalStepOf(context) !== undefined && isUsedUp(context, found, view)
    if (!isClosed && !isOver(load, context.limit)) {
      skipped.forEach((tell) => tell())
      return { ...opened, seen: view }
    }
    const { tokens: limit } = context.limit
    const numbers = { projected: load.count.high, limit, margin: limit - load.count.high }
    skipped.push(() => {
      context.emit({ type: 'verdict-given', verdict: { kind: 'skip', target, reason: 'does not fit', ...numbers } })
      designOf(deps.policy).log?.decided?.(context, view, 'skip').forEach(context.emit)
    })
    if (roomiest === undefined || limit > roomiest.context.limit.tokens) roomiest = { ...opened, seen: view }
  }
  if (roomiest === undefined) throw failed
  return roomiest
}

/** Makes ready whatever counts the request's tokens on a target, and finds what stands for it there. */
async function openAt(
  deps: EngineDeps,
  branch: Branch,
  request: ReadRequest,
  chosen: number,
  given: Target,
): Promise<Opened> {
  const { text, links } = request
  const target = { ...given, model: modelName(given.model) }
  const { conversation } = request
  const limit = limitFor(deps, target, conversation, neededOutput(branch))
  const { calibration, decisions, sealedTokens, isExact } = branch.log
  const { trail } = branch.requests
  const shared = trail?.decisions === decisions ? sharedLinks(trail.links, links) : 0
  if (deps.loadTokenizer !== undefined) await deps.loadTokenizer(target.model)
  // Nothing that another session loaded decides here.
  const isSharp = deps.loadTokenizer !== undefined || (isExact && (await deps.sharpen?.(target.model)) === true)
  const { model, endpoint } = target
  const { tenant, session, agent } = branch
  const gauge = { model, endpoint, owner: tenant, estimated: !isSharp, hidden: sealedTokens, calibration }
  const known = { items: (links[shared - 1]?.index ?? -1) + 1, links: shared }
  // Most requests are shorter than one part.
  if (text.length > SLICE_CHARACTERS) await countAhead(deps, gauge, conversation, known.items)
  const { guard = {} } = deps.policy.intake
  const ownReader = designOf(deps.policy).ownReader?.(guard)
  const room = { limit: limit.tokens, isCached: mayBeCached(deps, branch.log, target), ownReader }
  const offer = openOffer(deps, gauge, conversation, room, request.tools)
  const context = {
    ...request,
    deps,
    branch,
    bytes: conversation.bytes ?? Buffer.byteLength(text),
    conversation,
    known,
    target,
    chosen,
    gauge,
    limit,
    offer,
    readers: readersFor(conversation, offer.withEdits),
    epochReaders: () => readersFor(conversation, offer.withEpoch),
    send: request.sendTo?.(chosen),
    emit: (body: EventBody) => deps.emit({ ...body, at: deps.clock.now(), tenant, session, agent }),
  }
  const found = await findStanding(context)
  if (branch.sizes.isWaiting(links)) settleRefusal(context, viewOf(context, found), found.epoch?.id)
  return { context, found }
}

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
