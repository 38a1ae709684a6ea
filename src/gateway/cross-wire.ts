import { randomUUID } from 'node:crypto'
import type { Conversation, Loss } from '../core/conversation.ts'
import { PlimsollError } from '../core/errors.ts'
import type { EventBody } from '../core/events.ts'
import { type Fields, isRecord, parsedJson } from '../core/values.ts'
import { byName, type Wire } from '../formats/registry.ts'
import type { Route } from '../formats/endpoints.ts'
import type { AnswerHead } from '../formats/wire/answer.ts'
import { translateStream, translateWhole } from '../formats/wire/translate.ts'
import { errorBody } from './answer.ts'
import { rewritten, type Rewrite } from './read-answer.ts'
import type { Outbound, Transport, Upstream, UpstreamAnswer } from './types.ts'

/** A request of the client's wire, on its way to a upstream that speaks another. */
interface Crossing {
  readonly to: Wire
  readonly upstream: Upstream & { readonly model: string; readonly wire: string }
  readonly route: Route
  readonly conversation: Conversation
  /** What the answer may have where the client names no cap and the other wire wants one. */
  readonly maxOutputTokens?: number
}

interface Crossed {
  readonly text: string
  readonly stream: boolean
  readonly losses: readonly Loss[]
}

/** Whether an upstream speaks another wire than the client, so that everything has to be written anew for it. */
export const isForeign = (
  upstream: Upstream,
  route: Route,
): upstream is Upstream & { readonly wire: string; readonly model: string } =>
  upstream.wire !== undefined && upstream.model !== undefined && upstream.wire !== route.wire

/** The request in the upstream's own wire, with what did not come along. */
function crossRequest({ to, upstream, route, conversation, maxOutputTokens }: Crossing): Crossed {
  const { settings } = conversation
  const stream = route.stream === 'events' || settings.stream
  const cap = settings.maxOutputTokens ?? maxOutputTokens
  const { text, losses } = to.codec.encode({
    ...conversation,
    settings: {
      ...settings,
      model: upstream.model,
      stream,
      maxOutputTokens: cap,
      window: upstream.window ?? settings.window,
    },
  })
  return { text, stream, losses }
}

/** Why a request cannot be written for an upstream: what would be lost, and rules of the other wire that it would break. */
export function obstaclesOf(given: Omit<Crossing, 'to'>): readonly string[] {
  const { upstream, route } = given
  const to = byName.get(upstream.wire)
  if (to === undefined) return [`the unknown API format ${upstream.wire}`]
  if (route.stream === 'json-array') return ['a stream that is one JSON array']
  const { text, losses } = crossRequest({ ...given, to })
  const lost = losses.filter(({ minor }) => minor !== true).map(({ what }) => what)
  const broken = to.codec
    .check(JSON.parse(text), { model: upstream.model })
    .map(({ rule, message }) => `${rule}: ${message}`)
  return [...new Set([...lost, ...broken])]
}

export function cannotCross(upstream: Upstream, obstacles: readonly string[]): PlimsollError {
  const named = obstacles.slice(0, 5).join('; ')
  return new PlimsollError(
    'unsupported',
    `${upstream.endpoint} uses the API format ${upstream.wire}, which cannot express: ${named}.`,
    {
      advice: 'Leave that out, or configure an upstream with the API format of the client.',
      fields: { losses: obstacles, wire: upstream.wire },
    },
  )
}

interface CrossSending extends Crossing {
  readonly from: Wire
  /** The request in the client's wire. */
  readonly text: string
  readonly nowSeconds: number
  readonly emit: (event: EventBody) => void
}

/** Sends a request across, and gives back an answer in the client's wire. */
export async function sendAcross(transport: Transport, sending: CrossSending): Promise<UpstreamAnswer> {
  const { from, to, upstream, text, nowSeconds, emit } = sending
  const crossed = crossRequest(sending)
  if (crossed.losses.length > 0) {
    const what = [...new Set(crossed.losses.map((loss) => loss.what))].slice(0, 5).join('; ')
    emit({ type: 'warning', topic: 'cross-wire', message: `${to.id} cannot express: ${what}` })
  }
  const answer = await transport(crossOutbound(to, upstream, crossed))
  const head = {
    id: randomUUID().replaceAll('-', ''),
    model: upstream.model,
    nowSeconds,
    withUsage: from.answers.wantsUsage(text),
  }
  return crossAnswer(from, to, head, answer)
}

function crossOutbound(
  { routes, framing, endpoint }: Wire,
  upstream: Upstream & { readonly model: string },
  crossed: Crossed,
): Outbound {
  return {
    upstream,
    path: routes.path(upstream.model, crossed.stream),
    body: Buffer.from(crossed.text),
    headers: {
      'content-type': 'application/json',
      accept: crossed.stream ? framing.accept : 'application/json',
      'accept-encoding': 'identity',
      // Beside these only the upstream's own configured headers are sent: a client's key is never shown to another vendor.
      ...endpoint.headers(undefined),
    },
    foreign: true,
  }
}

/** The answer in the client's wire. */
function crossAnswer(from: Wire, to: Wire, head: AnswerHead, answer: UpstreamAnswer): UpstreamAnswer {
  const { status } = answer
  if (status < 400 && to.framing.isStream(answer.header('content-type')))
    return rewritten(answer, streamRewrite(from, to, head))
  return rewritten(
    answer,
    wholeRewrite((body) => {
      if (status >= 400) return clientError(from, status, body)
      const response = to.codec.readResponse(body)
      // A good status with an error inside is for the caller to find, in the client's words.
      if (response.items.length === 0 && hasError(body)) return clientError(from, 400, body)
      return translateWhole(response, from.answers.writer(), head)
    }),
  )
}

function wholeRewrite(write: (body: unknown) => unknown): Rewrite {
  const chunks: Uint8Array[] = []
  let size = 0
  return {
    contentType: 'application/json',
    chunk(bytes) {
      size += bytes.length
      if (size > MAX_WHOLE_BYTES) throw new PlimsollError('too-large', 'The answer is too long to be converted.')
      chunks.push(bytes)
      return NOTHING
    },
    end() {
      const text = Buffer.concat(chunks).toString('utf8')
      return Buffer.from(JSON.stringify(write(parsedJson(text) ?? text)))
    },
  }
}

/** An answer that is no stream is kept until its end to be converted. Unpacked. */
const MAX_WHOLE_BYTES = 16 * 1024 * 1024

const NOTHING = new Uint8Array()

function streamRewrite(from: Wire, to: Wire, head: AnswerHead): Rewrite {
  const parser = to.framing.parser()
  const translation = translateStream(to, from.answers.writer(), head)
  const write = from.framing.write
  let isOver = false
  const take = (data: string, event?: string): string => {
    if (isOver) return ''
    const written = translation.push({ data, event })
    if (translation.error() === undefined) {
      // What has no counterpart still tells the client that the connection is alive.
      return written.length === 0 ? from.framing.keepAlive : written.map(write).join('')
    }
    isOver = true
    const error = clientError(from, 400, { error: translation.error() })
    return write(from.answers.errorEvent(error))
  }
  return {
    contentType: from.framing.contentType,
    chunk: (bytes) =>
      Buffer.from(
        parser
          .push(bytes)
          .map(({ data, event }) => take(data, event))
          .join(''),
      ),
    end() {
      const rest = parser
        .end()
        .map(({ data, event }) => take(data, event))
        .join('')
      return Buffer.from(rest + (isOver ? '' : translation.end().map(write).join('')))
    },
  }
}

/** The provider's own words in the client's shape. */
function clientError(from: Wire, status: number, body: unknown): Fields {
  const error = isRecord(body) && isRecord(body['error']) ? body['error'] : isRecord(body) ? body : {}
  const words = error['message'] ?? (isRecord(body) ? body['error'] : body)
  const code = [error['code'], error['type'], error['status']].find((value) => typeof value === 'string')
  const message = typeof words === 'string' ? words : JSON.stringify(words ?? 'The upstream refused the request.')
  return errorBody(from, status, code ?? 'upstream', message)
}

const hasError = (body: unknown): boolean =>
  isRecord(body) && (isRecord(body['error']) || typeof body['error'] === 'string' || body['type'] === 'error')
