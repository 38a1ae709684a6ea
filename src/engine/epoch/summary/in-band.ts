import type { ModelResponse } from '../../../core/codec.ts'
import type { Conversation } from '../../../core/conversation.ts'
import { changeEnvelope } from '../../../core/edits.ts'
import type { Item } from '../../../core/item.ts'
import { cutsOf, turnsOf } from '../../../core/turns.ts'
import { summaryAnswerOf, type SummaryAnswer } from '../../../ports/summarizer.ts'
import { standingCache } from '../../prepare/cache.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'
import { fixedCountOf, textTokensOf, tokensOf } from '../../prepare/counting.ts'
import { brokenByUs } from '../../prepare/outgoing.ts'
import type { SummaryAsk } from '../cascade/draft.ts'
import { withInstructions } from './transcript.ts'

/** Cuts of the history that are tried; what none of these makes valid is left to another way. */
const CUTS = 4

export type InBand =
  | { readonly body: string; readonly headers: Readonly<Record<string, string>> }
  /** Why the prefix cannot be used. */
  | { readonly reason: string }

/**
 * The request at hand with one instruction behind its history: the provider reads its cache up to there. The newest steps stay out
 * where they would not fit; what the summary stands for is always in.
 */
export function inBandRequest(context: PrepareContext, before: View, ask: SummaryAsk): InBand {
  const { conversation } = before
  const { settings } = context.conversation
  if (settings.shapesAnswer === true) return { reason: 'the request decides the form of its answer' }
  if (settings.previousResponseId !== undefined || settings.conversationId !== undefined)
    return { reason: 'the provider holds a part of the history' }
  if (!isWarm(context)) return { reason: 'the provider’s cache is cold' }
  const instruction: Item = { id: 'summary', kind: 'user', role: 'user', text: instructionOf(ask), message: -1 }
  const maxOutputTokens = ask.maxOutputTokens + (settings.thinkingBudget ?? 0)
  for (const cut of cutsFor(context, before, ask, maxOutputTokens, instruction)) {
    const shorter: Conversation = { ...conversation, items: [...conversation.items.slice(0, cut), instruction] }
    const asked = changeEnvelope(shorter, { maxOutputTokens, forbidTools: true })
    const body = context.codec.encode(asked).text
    if (Buffer.byteLength(body) <= context.limit.bytes && brokenByUs(context, body) === undefined)
      return { body, headers: before.headers }
  }
  return { reason: 'the prefix does not fit with the instruction and the answer' }
}

export async function askInBand(
  context: PrepareContext,
  { body, headers }: Exclude<InBand, { reason: string }>,
  signal: AbortSignal,
): Promise<SummaryAnswer> {
  const answer = await context.send!({ body, headers, signal })
  const response: ModelResponse = 'body' in answer ? context.codec.readResponse(answer.body) : answer
  return summaryAnswerOf(response)
}

const instructionOf = ({ system, instructions }: SummaryAsk): string =>
  withInstructions(
    `Stop working for one answer: the older part of this conversation is about to leave the context window. ${system}`,
    instructions,
  ) + '\nAnswer with the summary alone. Call no tool.'

/** The last measured call was on this model, is part of this history, and not so long ago that its cache is gone. */
function isWarm(context: PrepareContext): boolean {
  const { branch, links } = context
  const chain = branch.log.measured?.chain
  return standingCache(context)?.state === 'warm' && links.some((link) => link.chain === chain)
}

/** Ends of whole steps behind everything that is folded, the longest that fits first. */
function cutsFor(
  context: PrepareContext,
  { conversation: { items }, load }: View,
  { folded }: SummaryAsk,
  maxOutputTokens: number,
  instruction: Item,
): number[] {
  const { limit } = context
  const turns = turnsOf(items)
  const ids = new Set(folded.map(({ id }) => id))
  const least = items.findLastIndex(({ id }) => ids.has(id)) + 1
  const pendingFrom = turns.steps.find(({ pending }) => pending)?.from ?? items.length
  const count = tokensOf(context)
  const sums = [fixedCountOf(context).high]
  for (const item of items) sums.push(sums.at(-1)! + count(item))
  // The items' upper bounds add up to more than the view's, most of which was measured.
  const share = Math.min(1, load.count.high / sums.at(-1)!)
  const room = limit.tokens + limit.outputReserve - maxOutputTokens - textTokensOf(context)(instruction.text)
  return cutsOf(turns)
    .filter((cut) => cut > 0 && cut >= least && cut <= pendingFrom && sums[cut]! * share <= room)
    .slice(-CUTS)
    .reverse()
}
