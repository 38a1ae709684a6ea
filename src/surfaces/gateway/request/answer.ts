import type { PlimsollError } from '../../../core/errors.ts'

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

const GEMINI_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'RESOURCE_EXHAUSTED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
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

export function errorBody(wire: string | undefined, status: number, code: string, message: string): unknown {
  const type =
    status === 413
      ? 'request_too_large'
      : status === 401
        ? 'authentication_error'
        : status === 429
          ? 'rate_limit_error'
          : status >= 500
            ? 'api_error'
            : 'invalid_request_error'
  if (wire === 'anthropic-messages') return { type: 'error', error: { type, message, code } }
  if (wire === 'gemini') {
    return {
      error: {
        code: status,
        message,
        status: GEMINI_STATUS[status] ?? (status >= 500 ? 'INTERNAL' : 'INVALID_ARGUMENT'),
      },
    }
  }
  return { error: { message, type, code, param: null } }
}

/** The same error inside a stream that has begun. */
export function errorEvent(wire: string, error: PlimsollError): string {
  const data = JSON.stringify(errorBody(wire, statusOf(error), error.code, `Plimsoll: ${error.message}`))
  return wire === 'anthropic-messages' ? `event: error\ndata: ${data}\n\n` : `data: ${data}\n\n`
}
