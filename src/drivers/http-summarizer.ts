import type { Codec } from '../core/codec.ts'
import type { Conversation } from '../core/conversation.ts'
import { PlimsollError } from '../core/errors.ts'
import type { Item } from '../core/item.ts'
import { boundedText } from './bounded-text.ts'
import { summaryAnswerOf, type Summarizer, type SummaryRequest } from '../ports/summarizer.ts'

export interface HttpSummarizerOptions {
  /** Writes the request and reads the answer. */
  readonly codec: Codec
  readonly model: string
  /** Where requests of this wire go, path included. */
  readonly url: string
  /** Credentials, and what the wire wants beside them. */
  readonly headers: Readonly<Record<string, string>>
  readonly window: number
  /** @default the global fetch */
  readonly fetch?: typeof fetch
}

/** A summary is never longer. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

/** Longer error bodies tell nothing more. */
const ERROR_CHARACTERS = 300

/** A model behind HTTP, on any of the wires. One request per summary; whatever is no answer rejects. */
export function httpSummarizer(options: HttpSummarizerOptions): Summarizer {
  const { codec, model, url, headers, window, fetch: call = globalThis.fetch } = options
  return {
    name: `${codec.format} ${model}`,
    model,
    window,
    async summarise(request) {
      const response = await call(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: codec.encode(conversationOf(model, request)).text,
        signal: request.signal,
      })
      const text = await boundedText(response, MAX_ANSWER_BYTES)
      if (!response.ok) {
        throw new PlimsollError(
          'upstream',
          `The summarizer answers ${response.status}: ${text.slice(0, ERROR_CHARACTERS)}`,
          {
            retryable: response.status === 429 || response.status >= 500,
            fields: { status: response.status },
          },
        )
      }
      return summaryAnswerOf(codec.readResponse(JSON.parse(text)))
    },
  }
}

/** A conversation of no wire: every codec writes it in its own. */
function conversationOf(model: string, { system, prompt, maxOutputTokens }: SummaryRequest): Conversation {
  const item = (id: string, kind: 'instruction' | 'user', text: string): Item => ({
    id,
    kind,
    role: kind === 'user' ? 'user' : 'system',
    text,
    message: kind === 'user' ? 0 : -1,
  })
  return {
    format: 'plain',
    head: [item('s0', 'instruction', system)],
    items: [item('m0', 'user', prompt)],
    tools: [],
    settings: { model, maxOutputTokens, stream: false, reasoning: false },
    source: { format: 'plain', value: undefined },
  }
}
