import { isPlimsollError } from '../../../src/core/errors.ts'

/** What a caller learns from an error, as data. */
export const told = (error: unknown): Record<string, unknown> =>
  isPlimsollError(error)
    ? { code: error.code, reason: error.fields['reason'], message: error.message }
    : { code: 'untyped', message: String(error) }
