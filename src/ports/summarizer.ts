import type { ModelResponse, StopReason } from '../core/codec.ts'
import type { Usage } from '../core/usage.ts'

export interface SummaryRequest {
  readonly system: string
  readonly prompt: string
  readonly maxOutputTokens: number
  /** Aborted when the reduction's time is up. */
  readonly signal: AbortSignal
}

export interface SummaryAnswer {
  readonly text: string
  readonly stop: StopReason
  readonly toolCalls?: number
  readonly usage?: Usage
}

/**
 * A model that writes summaries. Promises: one call per `summarise` without retries; rejects instead of returning an error text. The engine checks
 * the answer.
 */
export interface Summarizer {
  readonly name: string
  readonly model?: string
  /** Its window. Input above 80 % of it is sent in parts. */
  readonly window: number
  summarise(request: SummaryRequest): Promise<SummaryAnswer>
}

/** A model's response as a summary, without its reasoning. */
export function summaryAnswerOf({ items, stop, usage }: ModelResponse): SummaryAnswer {
  const said = items.filter((item) => item.kind === 'assistant').map((item) => item.text)
  const toolCalls = items.filter((item) => item.kind === 'call').length
  return { text: said.join(''), stop, toolCalls, usage }
}
