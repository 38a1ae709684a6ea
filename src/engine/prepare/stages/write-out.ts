import { isChained } from '../../../core/count.ts'
import type { PrepareRequest } from '../prepared-turn.ts'
import type { Measured } from './measure.ts'
import { isOver } from '../limits.ts'

/**
 * Of a history that the provider holds nothing can be taken out. Where it no longer fits and all of it passed here, the request is written
 * out with it, names no earlier response, and goes the way of any other; what the provider keeps from then on is what was sent.
 */
export async function writtenOut(
  { request, context, view }: Measured,
  writeOut: NonNullable<PrepareRequest['writeOut']>,
): Promise<PrepareRequest | undefined> {
  const { deps, branch, codec, conversation, gauge, limit } = context
  if (!isChained(conversation.settings)) return undefined
  // Without a count of the provider's only the history itself tells how full it is.
  const isUnmeasured = branch.log.measured === undefined
  if (!isUnmeasured && !isOver(view.load, limit)) return undefined
  const body = await writeOut()
  if (body === undefined) return undefined
  const isFull = !isUnmeasured || isOver(deps.meter.measure(gauge, codec.decode(body), Buffer.byteLength(body)), limit)
  const { writeOut: _, conversation: __, ...asked } = request
  // A hidden step would continue a request that the client never made.
  const tools = asked.tools === undefined ? {} : { tools: { ...asked.tools, withheld: true } }
  return isFull ? { ...asked, ...tools, body } : undefined
}
