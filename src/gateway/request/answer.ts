import type { PlimsollError } from '../../core/errors.ts'
import type { Fields } from '../../core/values.ts'
import { wireOf } from '../../formats/registry.ts'
import { errorTypeOf } from '../../formats/wire/answer.ts'

/** A response that we give ourselves, in the client's own wire. */
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
export function errorAnswer(wire: string | undefined, error: PlimsollError, status = statusOf(error)): Answer {
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

/** The error in the shape of the client's wire; where none is known, in the one that most clients read. */
export const errorBody = (wire: string | undefined, status: number, code: string, message: string): Fields =>
  wire === undefined
    ? { error: { message, type: errorTypeOf(status), code, param: null } }
    : wireOf(wire).answers.error(status, code, message)

/** The same error inside a stream that has begun. */
export function errorEvent(wire: string, error: PlimsollError): string {
  const { framing, answers } = wireOf(wire)
  return framing.write(answers.errorEvent(answers.error(statusOf(error), error.code, `Plimsoll: ${error.message}`)))
}
