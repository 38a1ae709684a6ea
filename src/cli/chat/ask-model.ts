import { setTimeout as pause } from 'node:timers/promises'
import type { Codec, ModelResponse } from '../../core/codec.ts'
import { PlimsollError } from '../../core/errors.ts'
import { classifyProviderError, type ClassifiedError } from '../../formats/overflow/index.ts'
import { parsedJson, recordOf } from '../../core/values.ts'
import { pathUnder } from '../../formats/endpoints.ts'
import type { ModelCall } from '../../ports/model-call.ts'
import type { Provider } from './providers.ts'

export interface Ask {
  readonly provider: Provider
  readonly codec: Codec
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly onText: (text: string) => void
  /** Told before it waits to try again. */
  readonly onRetry: (reason: string, waitMs: number) => void
}

export interface Answered {
  readonly response: ModelResponse
  /** What the wire wants back exactly. */
  readonly raw?: unknown
  /** The user stopped it; the response is what had arrived. */
  readonly stopped: boolean
}

/** The provider refused the request for its size; the caller reduces once more. */
export class SizeRefused extends Error {
  readonly refusal: ClassifiedError
  constructor(refusal: ClassifiedError) {
    super('The provider refused the request for its size.')
    this.refusal = refusal
  }
}

const ATTEMPTS = 4
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 30_000

/** Sends one request and reads its stream. Throttling and passing faults are tried again, a few times. */
export async function askModel(ask: Ask): Promise<Answered> {
  for (let attempt = 1; ; attempt++) {
    const response = await send(ask)
    if (response.ok) return readStream(ask, response)
    const text = await response.text()
    const refusal = classifyProviderError({ status: response.status, body: text })
    if (refusal.kind === 'overflow' || refusal.kind === 'body-size') throw new SizeRefused(refusal)
    const passing = refusal.kind === 'throttle' || response.status >= 500
    if (!passing || attempt === ATTEMPTS) throw refused(response.status, text, ask.provider)
    const wait = waitOf(response.headers.get('retry-after'), attempt)
    ask.onRetry(`${ask.provider.name} answers ${response.status}`, wait)
    await pause(wait, undefined, { signal: ask.signal })
  }
}

/** One more request to the same model, which nobody watches and nobody repeats. */
export async function askOnce(provider: Provider, codec: Codec, call: ModelCall): Promise<ModelResponse> {
  const response = await send({ provider, ...call })
  if (!response.ok) throw refused(response.status, await response.text(), provider)
  const answered = await readStream({ provider, codec, signal: call.signal, onText() {} }, response)
  if (answered.stopped) throw call.signal.reason
  return answered.response
}

async function send({
  provider,
  body,
  headers,
  signal,
}: Pick<Ask, 'provider' | 'body' | 'headers' | 'signal'>): Promise<Response> {
  const url = provider.baseUrl + pathUnder(provider.endpoint, provider.wire.routes.path(provider.model, true))
  try {
    return await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...provider.headers, ...headers },
      body,
      signal,
    })
  } catch (cause) {
    if (signal.aborted) throw cause
    const why = cause instanceof Error && cause.cause instanceof Error ? cause.cause.message : (cause as Error).message
    throw new PlimsollError('upstream', `${provider.baseUrl} cannot be reached: ${why}.`, {
      cause,
      advice: 'Check the address and the network; plimsoll doctor does both.',
    })
  }
}

/** What had arrived when the user stopped it is kept. */
async function readStream(
  { provider, codec, signal, onText }: Pick<Ask, 'provider' | 'codec' | 'signal' | 'onText'>,
  response: Response,
): Promise<Answered> {
  const { framing, answers, chat } = provider.wire
  const parser = framing.parser()
  const reducer = codec.stream()
  const keeper = chat.keeper?.()
  let stopped = false
  const take = (events: readonly { readonly data: string }[]): void => {
    for (const event of events) {
      reducer.push(event)
      const parsed = recordOf(parsedJson(event.data))
      if (parsed === undefined) continue
      keeper?.push(parsed)
      for (const { kind, text } of answers.pieces(parsed)) if (kind === 'text') onText(text)
    }
  }
  try {
    for await (const chunk of response.body ?? []) take(parser.push(chunk))
    take(parser.end())
  } catch (error) {
    if (!signal.aborted) throw cutOff(error)
    stopped = true
  }
  if (reducer.error !== undefined) throw refused(response.status, JSON.stringify(reducer.error), provider)
  return { response: reducer.response(), stopped, ...(keeper !== undefined && { raw: keeper.value() }) }
}

const cutOff = (cause: unknown): PlimsollError =>
  new PlimsollError('upstream', 'The connection broke in the middle of the answer.', {
    cause,
    retryable: true,
    advice: 'Say "go on", or ask again.',
  })

function refused(status: number, body: string, provider: Provider): PlimsollError {
  const said = /"message"\s*:\s*"((?:[^"\\]|\\.)*)"/.exec(body)?.[1]?.replaceAll(/\\(.)/g, '$1') ?? body.slice(0, 300)
  const advice =
    status === 401 || status === 403
      ? 'Check the key in the environment.'
      : status === 404
        ? `Check the model (${provider.model}) and the address (${provider.baseUrl}).`
        : undefined
  return new PlimsollError('upstream', `${provider.name} answers ${status}: ${said}`, {
    ...(advice !== undefined && { advice }),
    fields: { status },
  })
}

function waitOf(retryAfter: string | null, attempt: number): number {
  const seconds = Number(retryAfter)
  const wait = retryAfter !== null && seconds > 0 ? seconds * 1000 : FIRST_WAIT_MS * 2 ** (attempt - 1)
  return Math.min(wait, LONGEST_WAIT_MS)
}
