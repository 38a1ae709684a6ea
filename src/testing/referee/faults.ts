import type { Fault, FaultPlan } from './fault.ts'
import type { Draft } from './log.ts'
import { sendBytes } from './transport.ts'
import type { Dialect, Failure, RefereeResponse } from './types.ts'

export function faultFor(plan: FaultPlan | undefined, number: number): Fault | undefined {
  if (plan === undefined) return undefined
  if (typeof plan === 'function') return plan(number)
  return plan.find(({ on }) => on === 'every' || on === number || (Array.isArray(on) && on.includes(number)))?.fault
}

/** The page that a common reverse proxy sends for a body over its limit. */
const HTML_413 =
  '<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n' +
  '<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n'

export function htmlTooLarge(draft: Draft): RefereeResponse {
  draft.status = 413
  return { status: 413, headers: { 'content-type': 'text/html' }, body: sendBytes(HTML_413) }
}

/** Faults that are errors of the provider; the others change how an answer is sent. */
export function failureOfFault(
  fault: Fault,
  { overloadedStatus }: Pick<Dialect, 'overloadedStatus'>,
): Failure | undefined {
  switch (fault.kind) {
    case 'throttle': {
      // The wording is on purpose: throttling that mentions tokens is no overflow.
      const message = fault.message ?? 'This request would exceed the rate limit of 40,000 input tokens per minute.'
      return {
        kind: 'throttle',
        status: 429,
        message,
        headers: { 'retry-after': String(fault.retryAfterSeconds ?? 1) },
      }
    }
    case 'server-error':
      return { kind: 'server', status: fault.status ?? 500, message: 'Internal server error' }
    case 'overloaded':
      return { kind: 'overloaded', status: overloadedStatus, message: 'Overloaded' }
    default:
      return undefined
  }
}
