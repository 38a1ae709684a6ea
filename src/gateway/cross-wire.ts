import { randomUUID } from 'node:crypto'
import type { StreamEvent } from '../core/codec.ts'
import type { Conversation, Loss } from '../core/conversation.ts'
import { PlimsollError } from '../core/errors.ts'
import type { EventBody } from '../core/events.ts'
import { type Fields, isRecord, parsedJson } from '../core/values.ts'
import { bytesOf, type Piece } from '../formats/framing.ts'
import { isOverBounds } from '../formats/json/bounds.ts'
import { byName, type Wire } from '../formats/registry.ts'
import type { Route } from '../formats/endpoints.ts'
import type { AnswerHead } from '../formats/wire/answer.ts'
import { translateStream, translateWhole } from '../formats/wire/translate.ts'
import { errorBody } from './answer.ts'
import { withPieces, type UpstreamAnswer } from './read-answer.ts'
import type { Outbound, Transport, Upstream } from './types.ts'

/** A request for an upstream of another wire. */
interface Crossing {
  readonly to: Wire
  readonly upstream: Upstream & { readonly model: string; readonly wire: string }
  readonly route: Route
  readonly conversation: Conversation
  /** The output cap if the client sets none and the other wire requires one. */
  readonly maxOutputTokens?: number
}

interface Crossed {
  readonly text: string
  readonly stream: boolean
  readonly losses: readonly Loss[]
}

/** Whether an upstream uses another wire than the client, so that requests have to be converted. */
export const isForeign = (
  upstream: Upstream,
  route: Route,
): upstream is Upstream & { readonly wire: string; readonly model: string } =>
  upstream.wire !== undefined && upstream.model !== undefined && upstream.wire !== route.wire

/** The request in the upstream's wire, with the losses of the conversion. */
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

/** Why a request cannot be converted for an upstream: losses, and rules of the other wire that it would break. */
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

/** Sends a converted request and returns the answer in the client's wire. */
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
      // Only these and the upstream's configured headers are sent: a client's key is never sent to another vendor.
      ...endpoint.headers(undefined),
    },
    foreign: true,
  }
}

/** The longest answer without streaming that is converted; it is kept in memory until its end. */
const MAX_WHOLE_BYTES = 16 * 1024 * 1024

/** The answer in the client's wire. */
function crossAnswer(from: Wire, to: Wire, head: AnswerHead, answer: UpstreamAnswer): UpstreamAnswer {
  return answer.status < 400 && to.framing.isStream(answer.header('content-type'))
    ? withPieces(answer, { 'content-type': from.framing.contentType }, crossStream(from, to, head, answer))
    : withPieces(answer, { 'content-type': 'application/json' }, crossWhole(from, to, head, answer))
}

async function* crossWhole(
  from: Wire,
  to: Wire,
  head: AnswerHead,
  { status, body }: UpstreamAnswer,
): AsyncGenerator<Uint8Array> {
  const bytes = await body.whole(MAX_WHOLE_BYTES)
  if (bytes === undefined) throw new PlimsollError('too-large', 'The answer is too long to be converted.')
  const text = Buffer.from(bytes).toString('utf8')
  const answer = (isOverBounds(bytes) ? undefined : parsedJson(text)) ?? text
  const response = status < 400 ? to.codec.readResponse(answer) : undefined
  // An error in an answer with a success status is converted too, and the caller finds it.
  const isError = response === undefined || (response.items.length === 0 && hasError(answer))
  const written = isError
    ? clientError(from, Math.max(400, status), answer)
    : translateWhole(response, from.answers.writer(), head)
  yield Buffer.from(JSON.stringify(written))
}

async function* crossStream(
  from: Wire,
  to: Wire,
  head: AnswerHead,
  { body }: UpstreamAnswer,
): AsyncGenerator<Uint8Array> {
  const parser = to.framing.parser()
  const translation = translateStream(to, from.answers.writer(), head)
  const { write, keepAlive } = from.framing
  let isOver = false
  const take = ({ data, event }: StreamEvent): readonly Piece[] => {
    if (isOver) return []
    const written = translation.push({ data, event })
    // Events without a counterpart become keep-alives.
    if (translation.error() === undefined) return written.length === 0 ? [keepAlive] : written.map(write)
    isOver = true
    return [write(from.answers.errorEvent(clientError(from, 400, { error: translation.error() })))]
  }
  for await (const bytes of body) yield bytesOf(parser.push(bytes).flatMap(take))
  const rest = parser.end().flatMap(take)
  yield bytesOf([...rest, ...(isOver ? [] : translation.end().map(write))])
}

/** The provider's error message in the shape of the client's wire. */
function clientError(from: Wire, status: number, body: unknown): Fields {
  const error = isRecord(body) && isRecord(body['error']) ? body['error'] : isRecord(body) ? body : {}
  const words = error['message'] ?? (isRecord(body) ? body['error'] : body)
  const code = [error['code'], error['type'], error['status']].find((value) => typeof value === 'string')
  const message = typeof words === 'string' ? words : JSON.stringify(words ?? 'The upstream refused the request.')
  return errorBody(from, status, code ?? 'upstream', message)
}

const hasError = (body: unknown): boolean =>
  isRecord(body) && (isRecord(body['error']) || typeof body['error'] === 'string' || body['type'] === 'error')
