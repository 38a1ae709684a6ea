import { PlimsollError } from '../../../core/errors.ts'
import { addUsage, NO_USAGE, type Usage } from '../../../core/usage.ts'
import type { Summarizer } from '../../../ports/summarizer.ts'
import type { Tokenizer } from '../../../ports/tokenizer.ts'

/** The model as extraction uses it: every call counted, bounded, and its answer taken only from inside the wrapper. */
export interface ExtractionModel {
  /** Tokens of data that one prompt may carry beside its instructions. */
  readonly dataTokens: number
  count(text: string): number
  /** What the model wrote between the tags that it was asked for; rejects when it did not. */
  ask(system: string, prompt: string): Promise<string>
  /** Wraps data so that nothing in it can end the wrapper or pass for an instruction. */
  wrap(data: string): string
  /** How the answer is to be wrapped, as a sentence for the prompt. */
  readonly answerRule: string
  spent(): { readonly calls: number; readonly usage: Usage }
}

export interface ModelBounds {
  readonly maxCalls: number
  readonly maxOutputTokens: number
  readonly signal: AbortSignal
  /** Unguessable: text inside the data cannot contain it. */
  readonly nonce: string
  /** The longest text that stands beside the data in a prompt. */
  readonly instructions: string
}

/** Input is cut to this share of the window, since estimates err. */
const INPUT_SHARE = 0.8
/** Tags, places and turn numbers around instructions and data. */
const FRAME_TOKENS = 150

export function extractionModel(summarizer: Summarizer, tokenizer: Tokenizer, bounds: ModelBounds): ExtractionModel {
  const { maxCalls, maxOutputTokens, signal, nonce, instructions } = bounds
  const count = (text: string): number => Math.ceil(tokenizer.count(text).high)
  const open = `<answer-${nonce}>`
  const close = `</answer-${nonce}>`
  let calls = 0
  let usage = NO_USAGE
  return {
    dataTokens: Math.floor(summarizer.window * INPUT_SHARE) - maxOutputTokens - count(instructions) - FRAME_TOKENS,
    answerRule: `Write your answer between ${open} and ${close}. What is outside of these tags is discarded.`,
    count,
    wrap: (data) => `<data-${nonce}>\n${data}\n</data-${nonce}>`,
    spent: () => ({ calls, usage }),
    async ask(system, prompt) {
      if (calls >= maxCalls)
        throw new PlimsollError('budget-exceeded', `The extraction used its ${maxCalls} model calls.`)
      calls++
      const answer = await summarizer.summarise({ system, prompt, maxOutputTokens, signal })
      if (answer.usage !== undefined) usage = addUsage(usage, answer.usage)
      if ((answer.toolCalls ?? 0) > 0)
        throw new PlimsollError('upstream', 'The model called a tool instead of answering.')
      const start = answer.text.indexOf(open)
      if (start === -1) throw new PlimsollError('upstream', 'The model did not answer inside the wrapper.')
      // An answer that ran into its length limit has no end tag; what there is of it counts.
      const end = answer.text.indexOf(close, start)
      const text = answer.text.slice(start + open.length, end === -1 ? undefined : end).trim()
      if (text === '') throw new PlimsollError('upstream', 'The model gave an empty answer.')
      return text
    },
  }
}
