import type { ErrorCode, PlimsollError } from '../../core/errors.ts'

/** What became of a call that ended in an error: only a refusal with numbers is an answer that the engine may give. */
export type Fate = 'refused' | 'invalid' | 'died'

/** Errors that say what does not fit, or what is spent. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set([
  'overflow',
  'fixed-overhead',
  'limit-not-positive',
  'budget-exceeded',
])

export function fateOf({ code }: PlimsollError): Fate {
  if (code === 'invalid-request') return 'invalid'
  return REFUSALS.has(code) ? 'refused' : 'died'
}
