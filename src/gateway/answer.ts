import type { PlimsollError } from '../core/errors.ts'
import type { Fields } from '../core/values.ts'
import { bytesOf, type Piece } from '../formats/framing.ts'
import type { Wire } from '../formats/registry.ts'
import { errorTypeOf, eventsOf, type AnswerEnd, type AnswerHead } from '../formats/wire/answer.ts'
import type { StreamKind } from '../formats/wire/wire.ts'

/** A response that we write ourselves, in the client's wire. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

const STATUS: Partial<Record<PlimsollError['code'], number>> = {
  'fixed-overhead': 413,
  overflow: 413,
  'too-large': 413,
  'budget-exceeded': 402,
  'store-unavailable': 503,
  'not-found': 404,
  forbidden: 403,
  unsupported: 501,
  timeout: 504,
  upstream: 502,
  closed: 503,
}

/** Each SDK reads errors in its vendor's shape; anything else shows up as "unknown error". */
export function errorAnswer(wire: Wire | undefined, error: PlimsollError, status = statusOf(error)): Answer {
  const message = `Plimsoll: ${error.message}`
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'x-plimsoll-error': error.code,
      'x-should-retry': String(error.retryable),
    },
    body: JSON.stringify(errorBody(wire, status, error.code, message)),
  }
}

export const statusOf = (error: PlimsollError): number =>
  typeof error.fields['encoding'] === 'string'
    ? 415
    : error.code === 'budget-exceeded' && error.retryable
      ? 429
      : (STATUS[error.code] ?? 400)

/** The error in the shape of the client's wire; if that is unknown, in the most common shape. */
export const errorBody = (wire: Wire | undefined, status: number, code: string, message: string): Fields =>
  wire === undefined
    ? { error: { message, type: errorTypeOf(status), code, param: null } }
    : wire.answers.error(status, code, message)

/** The same error inside a stream that has begun. */
export function errorEvent({ framing, answers }: Wire, error: PlimsollError): Piece {
  return framing.write(answers.errorEvent(answers.error(statusOf(error), error.code, `Plimsoll: ${error.message}`)))
}

interface LocalAnswer extends AnswerHead {
  readonly text: string
  readonly stream: false | StreamKind
}

/** A complete, valid answer in the client's wire, which an SDK gets for a `halt`. */
export function localAnswer(
  { answers, framing }: Wire,
  given: LocalAnswer,
  headers: Readonly<Record<string, string>>,
): Answer {
  const { text, stream, ...head } = given
  const writer = answers.writer()
  const end: AnswerEnd = { parts: [{ kind: 'text', text }], stop: 'end' }
  if (stream === 'events') {
    return {
      status: 200,
      headers: { 'content-type': framing.contentType, 'cache-control': 'no-cache', ...headers },
      body: bytesOf(eventsOf(writer, head, end).map(framing.write)),
    }
  }
  const whole = writer.whole(head, end)
  return {
    status: 200,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(stream === 'json-array' ? [whole] : whole),
  }
}
