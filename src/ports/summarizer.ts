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
 * A model that writes summaries. Promises: one call per `summarise`, no retries of its own, rejects instead of returning an
 * error text. The engine judges the answer; the driver only fetches it.
 */
export interface Summarizer {
  readonly name: string
  readonly model?: string
  /** Its own window; input is cut to 80 % of it and chunked beyond. */
  readonly window: number
  summarise(request: SummaryRequest): Promise<SummaryAnswer>
}

/** What a model answered, as an answer to a request for a summary. Thoughts are no part of it. */
export function summaryAnswerOf({ items, stop, usage }: ModelResponse): SummaryAnswer {
  const said = items.filter((item) => item.kind === 'assistant').map((item) => item.text)
  const toolCalls = items.filter((item) => item.kind === 'call').length
  return { text: said.join(''), stop, toolCalls, usage }
}
