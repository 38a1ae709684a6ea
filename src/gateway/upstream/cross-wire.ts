import { randomUUID } from 'node:crypto'
import type { Codec } from '../../core/codec.ts'
import type { Conversation, Loss } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { EventBody } from '../../core/events.ts'
import { type Fields, isRecord, parsedJson } from '../../core/values.ts'
import { wireOf } from '../../formats/registry.ts'
import type { Route } from '../../formats/endpoints.ts'
import type { AnswerHead } from '../../formats/wire/answer.ts'
import { translateStream, translateWhole } from '../../formats/wire/translate.ts'
import { errorBody } from '../request/answer.ts'
import type { Outbound, Place, Rewrite, Upstream, UpstreamAnswer } from '../exchange-types.ts'

/** A request of the client's wire, on its way to a place that speaks another. */
export interface Crossing {
  readonly to: Codec
  readonly place: Place & { readonly model: string }
  readonly route: Route
  readonly conversation: Conversation
  /** What the answer may have where the client names no cap and the other wire wants one. */
  readonly maxOutputTokens?: number
}

export interface Crossed {
  readonly text: string
  readonly stream: boolean
  readonly losses: readonly Loss[]
}

/** Whether a place speaks another wire than the client, so that everything has to be written anew for it. */
export const isForeign = (
  place: Place,
  route: Route,
): place is Place & { readonly wire: string; readonly model: string } =>
  place.wire !== undefined && place.model !== undefined && place.wire !== route.wire

/** The request in the place's own wire, with what did not come along. */
function crossRequest({ to, place, route, conversation, maxOutputTokens }: Crossing): Crossed {
  const { settings } = conversation
  const stream = route.stream === 'events' || settings.stream
  const cap = settings.maxOutputTokens ?? maxOutputTokens
  const { text, losses } = to.encode({
    ...conversation,
    settings: {
      ...settings,
      model: place.model,
      stream,
      ...(cap !== undefined && { maxOutputTokens: cap }),
      ...(place.window !== undefined && { window: place.window }),
    },
  })
  return { text, stream, losses }
}

/** Why a request cannot be written for a place: what would be lost, and rules of the other wire that it would break. */
export function obstaclesOf(crossing: Crossing): readonly string[] {
  const { to, place, route } = crossing
  if (route.stream === 'json-array') return ['a stream that is one JSON array']
  const { text, losses } = crossRequest(crossing)
  const lost = losses.filter(({ minor }) => minor !== true).map(({ what }) => what)
  const broken = to.check(JSON.parse(text), { model: place.model }).map(({ rule, message }) => `${rule}: ${message}`)
  return [...new Set([...lost, ...broken])]
}

export function cannotCross(place: Place, obstacles: readonly string[]): PlimsollError {
  const named = obstacles.slice(0, 5).join('; ')
  return new PlimsollError(
    'unsupported',
    `${place.endpoint} uses the API format ${place.wire}, which cannot express: ${named}.`,
    {
      advice: 'Leave that out, or configure an upstream with the API format of the client.',
      fields: { losses: obstacles, wire: place.wire },
    },
  )
}

export interface CrossSending extends Crossing {
  readonly from: Codec
  /** The request in the client's wire. */
  readonly text: string
  readonly nowSeconds: number
  readonly emit: (event: EventBody) => void
}

/** Sends a request across, and gives back an answer in the client's wire. */
export async function sendAcross<B>(upstream: Upstream<B>, sending: CrossSending): Promise<UpstreamAnswer<B>> {
  const { from, to, place, text, nowSeconds, emit } = sending
  const crossed = crossRequest(sending)
  if (crossed.losses.length > 0) {
    const what = [...new Set(crossed.losses.map((loss) => loss.what))].slice(0, 5).join('; ')
    emit({ type: 'warning', topic: 'cross-wire', message: `${to.format} cannot express: ${what}` })
  }
  const answer = await upstream.send(crossOutbound({ ...place, wire: to.format }, crossed))
  const head = {
    id: randomUUID().replaceAll('-', ''),
    model: place.model,
    nowSeconds,
    withUsage: wireOf(from.format).answers.wantsUsage(text),
  }
  return crossAnswer(from, to, head, answer)
}

function crossOutbound(place: Place & { readonly wire: string; readonly model: string }, crossed: Crossed): Outbound {
  const { routes, framing, endpoint } = wireOf(place.wire)
  return {
    place,
    path: routes.path(place.model, crossed.stream),
    body: Buffer.from(crossed.text),
    headers: {
      'content-type': 'application/json',
      accept: crossed.stream ? framing.accept : 'application/json',
      'accept-encoding': 'identity',
      // Beside these only the place's own configured headers are sent: a client's key is never shown to another vendor.
      ...endpoint.headers(undefined),
    },
    foreign: true,
  }
}

/** The answer in the client's wire. */
function crossAnswer<B>(from: Codec, to: Codec, head: AnswerHead, answer: UpstreamAnswer<B>): UpstreamAnswer<B> {
  const isStream = wireOf(to.format).framing.isStream(answer.header('content-type'))
  if (answer.status >= 400) return answer.rewritten(wholeRewrite((body) => clientError(from, answer.status, body)))
  if (isStream) return answer.rewritten(streamRewrite(from, to, head))
  return answer.rewritten(
    wholeRewrite((body) => {
      const response = to.readResponse(body)
      // A good status with an error inside is for the caller to find, in the client's words.
      if (response.items.length === 0 && hasError(body)) return clientError(from, 400, body)
      return translateWhole(response, wireOf(from.format).answers.writer(), head)
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

function streamRewrite(from: Codec, to: Codec, head: AnswerHead): Rewrite {
  const [client, upstream] = [wireOf(from.format), wireOf(to.format)]
  const parser = upstream.framing.parser()
  const translation = translateStream(upstream, client.answers.writer(), head)
  const write = client.framing.write
  let isOver = false
  const take = (data: string, event?: string): string => {
    if (isOver) return ''
    const written = translation.push({ data, ...(event !== undefined && { event }) })
    if (translation.error() === undefined) {
      // What has no counterpart still tells the client that somebody is there.
      return written.length === 0 ? client.framing.keepAlive : written.map(write).join('')
    }
    isOver = true
    const error = clientError(from, 400, { error: translation.error() })
    return write(client.answers.errorEvent(error))
  }
  return {
    contentType: client.framing.contentType,
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
function clientError(from: Codec, status: number, body: unknown): Fields {
  const error = isRecord(body) && isRecord(body['error']) ? body['error'] : isRecord(body) ? body : {}
  const words = error['message'] ?? (isRecord(body) ? body['error'] : body)
  const code = [error['code'], error['type'], error['status']].find((value) => typeof value === 'string')
  const message = typeof words === 'string' ? words : JSON.stringify(words ?? 'The upstream refused the request.')
  return errorBody(from.format, status, code ?? 'upstream', message)
}

const hasError = (body: unknown): boolean =>
  isRecord(body) && (isRecord(body['error']) || typeof body['error'] === 'string' || body['type'] === 'error')
