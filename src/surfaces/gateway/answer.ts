import type { PlimsollError } from '../../core/errors.ts'

/** A response that we give ourselves, in the client's own wire. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const STATUS: Partial<Record<PlimsollError['code'], number>> = {
  'fixed-overhead': 413,
  overflow: 413,
  'budget-exceeded': 402,
  'store-unavailable': 503,
  forbidden: 403,
  unsupported: 501,
  timeout: 504,
  upstream: 502,
}

/** Each SDK reads errors in its vendor's shape; anything else shows up as "unknown error". */
export function errorAnswer(wire: string, error: PlimsollError): Answer {
  const status = STATUS[error.code] ?? 400
  const type = status === 413 ? 'request_too_large' : status >= 500 ? 'api_error' : 'invalid_request_error'
  const message = `Plimsoll: ${error.message}`
  const body =
    wire === 'anthropic-messages'
      ? { type: 'error', error: { type, message, code: error.code } }
      : wire === 'gemini'
        ? { error: { code: status, message, status: status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT' } }
        : { error: { message, type, code: error.code, param: null } }
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'x-plimsoll-error': error.code,
      'x-should-retry': String(error.retryable),
    },
    body: JSON.stringify(body),
  }
}
