import { messageOf } from '../../../core/values.ts'
import type { EpochEdit } from '../../../core/records.ts'
import type { CallPlan } from '../../../meter/index.ts'
import type { Summarizer, SummaryAnswer } from '../../../ports/summarizer.ts'
import { storeTexts } from '../../session/log.ts'
import type { PrepareContext, View } from '../../prepare/context.ts'
import { textTokensOf } from '../../prepare/counting.ts'
import { payForCall } from '../../spending/calls.ts'
import { deadlineAfter, withDeadline } from '../../../util/deadline.ts'
import { askInBand, inBandRequest } from './in-band.ts'
import { accountFault, faultOf } from './judge.ts'
import { transcriptWithin, withInstructions } from './transcript.ts'
import type { Proposal, SummaryAsk } from '../cascade/draft.ts'

/** Unless the policy says otherwise, models have this long for one reduction. */
const TIME_MS = 30_000
const CALLS = 3
/** The summarizer's own request leaves this much of its window free. */
const INPUT_SHARE = 0.8

/** Puts a model's words in the place of code's, where a plan asks for them, the answer is sound and the result fits. */
export type SummaryWriter = (proposal: Proposal, fits: (proposal: Proposal) => boolean) => Promise<Proposal>

/** One way to a model. */
interface Way {
  readonly name: string
  ask(ask: SummaryAsk, signal: AbortSignal): Promise<SummaryAnswer>
}

/** The ways that are open for this summary, the better one first. */
function waysFor(context: PrepareContext, before: View, ask: SummaryAsk): Way[] {
  const { target, emit, deps } = context
  const { summarizer } = deps
  const ways: Way[] = []
  if (mayGoInBand(context)) {
    const request = inBandRequest(context, before, ask)
    if ('reason' in request) emit({ type: 'warning', topic: 'summary', message: `Not in band: ${request.reason}.` })
    else
      ways.push({
        name: 'in band',
        ask({ maxOutputTokens }, signal) {
          const plan = { inputHigh: before.load.count.high, maxOutputTokens }
          return paid(context, { name: target.model }, plan, () => askInBand(context, request, signal))
        },
      })
  }
  if (summarizer !== undefined)
    ways.push({ name: summarizer.name, ask: (asked, signal) => askOutOfBand(context, summarizer, asked, signal) })
  return ways
}

/** Asks with a prompt of its own. Of a history that does not fit the oldest lines are left out and counted. */
async function askOutOfBand(
  context: PrepareContext,
  summarizer: Summarizer,
  { system: own, instructions, prompt: around, items, maxOutputTokens }: SummaryAsk,
  signal: AbortSignal,
): Promise<SummaryAnswer> {
  const count = textTokensOf(context)
  const system = withInstructions(own, instructions)
  const room = Math.floor(summarizer.window * INPUT_SHARE) - maxOutputTokens - count(system) - count(around(''))
  const transcript = transcriptWithin(items, room, count)
  // A style that reads only what people said may find nothing, and providers refuse an empty message.
  if (transcript === '') throw new NotAsked('there is nothing to read')
  const prompt = around(transcript)
  const plan = { inputHigh: count(system) + count(prompt), maxOutputTokens }
  return paid(context, summarizer, plan, () => summarizer.summarise({ system, prompt, maxOutputTokens, signal }))
}

async function paid(
  context: PrepareContext,
  model: Pick<Summarizer, 'name' | 'model'>,
  plan: CallPlan,
  ask: () => Promise<SummaryAnswer>,
): Promise<SummaryAnswer> {
  const call = await payForCall(context, model, plan)
  if (call === undefined) throw new NotAsked('no budget is left for it')
  return call.made(ask)
}

/**
 * Asks a model, at most as often as the policy allows and no longer than it has time, whatever the number of plans. An answer that is
 * cut, empty, refusing, calling tools, as long as its source or without the facts that code carries does not enter; what code wrote
 * then serves. `before`: the view that the provider's cache knows.
 */
export function summaryWriter(context: PrepareContext, before: View, isModelFree: boolean): SummaryWriter {
  const { deps, branch, inBackground, emit } = context
  const { passes = CALLS, timeMs = TIME_MS, summaries = {} } = deps.policy
  const count = textTokensOf(context)
  const hasModel = !isModelFree && (deps.summarizer !== undefined || mayGoInBand(context))
  let callsLeft = summaries.calls ?? passes
  const down = new Set<string>()
  let deadline: AbortSignal | undefined

  async function write(ask: SummaryAsk, take: (text: string) => boolean): Promise<void> {
    deadline ??= deadlineAfter(timeMs, inBackground?.signal)
    const ways = waysFor(context, before, ask).filter(({ name }) => !down.has(name))
    let repaired: SummaryAsk | undefined
    while (ways.length > 0 && callsLeft > 0 && !deadline.aborted) {
      const way = ways[0]!
      callsLeft--
      const outcome = await askOnce(way, repaired ?? ask, deadline)
      if ('text' in outcome && take(outcome.text)) return
      const reason = 'text' in outcome ? 'the request does not fit with it' : outcome.reason
      emit({ type: 'summary-rejected', reason })
      // The next answer is asked for with what is wrong with this one; when the calls are used up, what code wrote serves.
      if ('isWrong' in outcome)
        repaired = {
          ...ask,
          system: `${ask.system}\nYour last answer could not be used: ${reason}. Write it again, from this conversation alone.`,
        }
      // Asking again helps against a bad answer, not against a summarizer that is down.
      if (!('isDown' in outcome)) continue
      ways.shift()
      down.add(way.name)
    }
  }

  async function askOnce(way: Way, ask: SummaryAsk, signal: AbortSignal): Promise<Outcome> {
    try {
      const answer = await withDeadline(way.ask(ask, signal), signal)
      const text = ask.wrap(answer.text.trim())
      const isTooLong = count(text) >= ask.sourceTokens
      const reason = faultOf(answer, { text, carried: ask.carried, isTooLong })
      if (reason !== undefined) return { reason }
      const wrong = accountFault(answer.text, ask.history)
      return wrong === undefined ? { text } : { reason: wrong, isWrong: true }
    } catch (error) {
      if (error instanceof NotAsked) return { reason: error.message, isDown: true }
      const cause = messageOf(error)
      emit({ type: 'degraded', what: `summarizer ${way.name}`, cause })
      return { reason: `the summarizer failed: ${cause}`, isDown: true }
    }
  }

  return async (proposal, fits) => {
    let written = proposal
    for (const ask of hasModel ? (proposal.asks ?? []) : []) {
      // What would not fit without a word of it is not worth a call.
      if (callsLeft <= 0 || !fits(withText(written, ask.text, ''))) continue
      // Stored before a model is asked, so that what code wrote can be read even if the model's words take its place.
      if (inBackground === undefined) await storeTexts(deps, branch, [{ text: ask.text }])
      await write(ask, (text) => {
        const candidate = withText(written, ask.text, text)
        if (!fits(candidate)) return false
        written = candidate
        return true
      })
    }
    return written
  }
}

const mayGoInBand = ({ deps, send }: PrepareContext): boolean =>
  deps.policy.summaries?.via === 'in-band' && send !== undefined

const withText = (proposal: Proposal, before: string, text: string): Proposal => ({
  ...proposal,
  edits: proposal.edits.map((edit): EpochEdit =>
    edit.op === 'insert' && edit.text === before ? { ...edit, text } : edit,
  ),
})

type Outcome =
  | { readonly text: string }
  | { readonly reason: string; readonly isDown?: true }
  /** A summary in form, but of something else. */
  | { readonly reason: string; readonly isWrong: true }

/** Budgets leave nothing for a call of ours, or there is nothing to ask about. */
class NotAsked extends Error {}
