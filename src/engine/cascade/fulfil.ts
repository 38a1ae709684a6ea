import type { EpochEdit } from '../../core/records.ts'
import type { Summarizer, SummaryAnswer } from '../../ports/summarizer.ts'
import type { PrepareContext } from '../context.ts'
import { textTokensOf } from '../context.ts'
import { payForCall } from '../side-call.ts'
import type { Proposal, SummaryAsk } from './draft.ts'

/** The summariser's own request leaves this much of its window free. */
const INPUT_SHARE = 0.8
/** Unless the policy says otherwise, a model has this long for one answer. */
export const SUMMARY_TIME_MS = 30_000

export interface SummaryWriter {
  /** Whether `fulfil` has anything to ask and anybody to ask it. */
  wouldAsk(proposal: Proposal): boolean
  /** Puts a model's words in the place of code's, where a plan asks for them, the answer is sound and the result fits. */
  fulfil(proposal: Proposal, fits: (proposal: Proposal) => boolean): Promise<Proposal>
}

/**
 * Asks the summariser, at most as often as the policy has passes and no longer than it has time, whatever the number of plans. An
 * answer that is cut, empty, refusing, calling tools or as long as its source does not enter; what code wrote then serves.
 */
export function summaryWriter(context: PrepareContext): SummaryWriter {
  const { deps } = context
  const { summarizer, policy } = deps
  const { passes = 3, timeMs = SUMMARY_TIME_MS } = policy
  let calls = 0
  let isUsable = summarizer !== undefined

  async function write(ask: SummaryAsk, take: (text: string) => boolean): Promise<void> {
    while (isUsable && calls < passes) {
      calls++
      const outcome = await askOnce(context, summarizer!, ask, timeMs)
      if ('text' in outcome && take(outcome.text)) return
      const reason = 'text' in outcome ? 'the request does not fit with it' : outcome.reason
      context.emit({ type: 'summary-rejected', reason })
      // Asking again helps against a bad answer, not against a summariser that is down.
      if ('isDown' in outcome) isUsable = false
    }
  }

  return {
    wouldAsk: ({ asks = [] }) => isUsable && calls < passes && asks.length > 0,
    async fulfil(proposal, fits) {
      let written = proposal
      for (const ask of proposal.asks ?? []) {
        // What would not fit without a word of it is not worth a call.
        if (!fits(withText(written, ask.text, ''))) continue
        await write(ask, (text) => {
          const candidate = withText(written, ask.text, text)
          if (!fits(candidate)) return false
          written = candidate
          return true
        })
      }
      return written
    },
  }
}

const withText = (proposal: Proposal, before: string, text: string): Proposal => ({
  ...proposal,
  edits: proposal.edits.map((edit): EpochEdit =>
    edit.op === 'insert' && edit.text === before ? { ...edit, text } : edit,
  ),
})

type Outcome = { readonly text: string } | { readonly reason: string; readonly isDown?: true }

async function askOnce(
  context: PrepareContext,
  summarizer: Summarizer,
  ask: SummaryAsk,
  timeMs: number,
): Promise<Outcome> {
  const count = textTokensOf(context)
  try {
    const prompt = ask.prompt(Math.floor(summarizer.window * INPUT_SHARE) - ask.maxOutputTokens, count)
    // A style that reads only what people said may find nothing, and providers refuse an empty message.
    if (prompt.trim() === '') return { reason: 'there is nothing to read' }
    const call = await payForCall(context, summarizer, {
      inputHigh: count(ask.system) + count(prompt),
      maxOutputTokens: ask.maxOutputTokens,
    })
    if (call === undefined) return { reason: 'no budget is left for it', isDown: true }
    const answer = await call.made(() =>
      summarizer.summarise({
        system: ask.system,
        prompt,
        maxOutputTokens: ask.maxOutputTokens,
        signal: AbortSignal.timeout(timeMs),
      }),
    )
    const text = ask.wrap(answer.text.trim())
    const reason = faultOf(answer, context.deps.policy.asDesigned !== true && count(text) >= ask.sourceTokens)
    return reason === undefined ? { text } : { reason }
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    context.emit({ type: 'degraded', what: `summariser ${summarizer.name}`, cause })
    return { reason: `the summariser failed: ${cause}`, isDown: true }
  }
}

function faultOf({ text, stop, toolCalls = 0 }: SummaryAnswer, isTooLong: boolean): string | undefined {
  if (toolCalls > 0) return 'it calls tools'
  if (stop === 'refusal') return 'the model refused'
  if (text.trim() === '') return 'it is empty'
  if (stop !== 'end') return `it stopped for ${stop}`
  return isTooLong ? 'it is as long as what it stands for' : undefined
}
