import { PlimsollError } from '../core/errors.ts'
import { isRecord } from '../core/values.ts'
import type { Embed } from '../ports/embed.ts'
import { boundedText } from './bounded-text.ts'

/** An endpoint that answers as OpenAI's `/v1/embeddings` does; Ollama's and most local servers' do. */
export interface EmbedSettings {
  readonly model: string
  /** What `/embeddings` is appended to, such as `http://127.0.0.1:11434/v1`. */
  readonly baseUrl: string
  /** The environment variable with its key. @default none */
  readonly apiKeyEnv?: string
}

/** A function from texts to vectors, or an endpoint. */
export type EmbedChoice = Embed | EmbedSettings

/** Texts of one request: servers refuse more than some hundreds. */
const MOST_TEXTS = 64
const MAX_ANSWER_BYTES = 32 * 1024 * 1024
const TIMEOUT_MS = 20_000

export function openEmbed(choice: EmbedChoice | undefined): Embed | undefined {
  if (choice === undefined || typeof choice === 'function') return choice
  const { apiKeyEnv } = choice
  const key = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv]
  if (apiKeyEnv !== undefined && (key ?? '') === '')
    throw new PlimsollError('bad-config', `The embedding model has no key: ${apiKeyEnv} is not set.`)
  return async (texts) => {
    const vectors: (readonly number[])[] = []
    for (let from = 0; from < texts.length; from += MOST_TEXTS)
      vectors.push(...(await ask(choice, key, texts.slice(from, from + MOST_TEXTS))))
    return vectors
  }
}

async function ask(
  { model, baseUrl }: EmbedSettings,
  key: string | undefined,
  input: readonly string[],
): Promise<number[][]> {
  const headers = new Headers({ 'content-type': 'application/json' })
  if (key !== undefined) headers.set('authorization', `Bearer ${key}`)
  const response = await fetch(`${baseUrl.replace(/\/+$/, '')}/embeddings`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ model, input }),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  const text = await boundedText(response, MAX_ANSWER_BYTES)
  const { status } = response
  if (!response.ok)
    throw new PlimsollError('upstream', `The embedding model answers ${status}: ${text.slice(0, 300)}`, {
      retryable: status === 429 || status >= 500,
      fields: { status },
    })
  const answer: unknown = JSON.parse(text)
  const data = isRecord(answer) && Array.isArray(answer['data']) ? answer['data'].filter(isRecord) : []
  const vectors: number[][] = []
  // Servers may answer out of order.
  for (const [place, { index = place, embedding }] of data.entries())
    if (typeof index === 'number' && Array.isArray(embedding)) vectors[index] = embedding as number[]
  if (input.every((_, i) => vectors[i] !== undefined)) return vectors
  throw new PlimsollError('upstream', `The embedding model gave ${data.length} vectors for ${input.length} texts.`)
}
