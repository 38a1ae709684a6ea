/** Every error code with its meaning: the type and the documentation are made from this list. */
export const ERROR_CODES = {
  'bad-input': 'An argument or a field of a request cannot be used; the message names it.',
  overflow: 'The request does not fit the context window, and nothing more may be taken out of it.',
  'fixed-overhead': 'Instructions and tool definitions alone exceed the limit; the message names the largest parts.',
  'limit-not-positive': 'The output reserve and the buffer leave no room for a prompt in this window.',
  'invalid-request': 'The request that would leave breaks a rule of its API format, so it was not sent.',
  'budget-exceeded': 'A budget in dollars, tokens or calls is used up.',
  'not-found': 'There is no such session, artifact or route.',
  conflict: 'Another process changed the same log or budget first, and retrying did not help.',
  'store-unavailable': 'The session or artifact store cannot be read or written now.',
  'quota-exceeded': 'A tenant has used up its storage quota. Nothing was deleted to make room.',
  forbidden:
    'The caller may not do this: the data of another tenant, a wrong token, a web page, a folder of another user.',
  'bad-config': 'A setting is wrong or contradicts another one; the message names it.',
  upstream: 'The provider could not be reached, or answered with something that cannot be used.',
  timeout: 'An operation did not finish within its time limit; the message names it.',
  closed: 'A store or another part was used after it was closed.',
  unsupported:
    'Not supported: an API format, an optional package that is not installed, or data that a newer version wrote.',
  corrupt: 'Stored bytes are not the bytes that were written.',
  'too-large': 'A request or an answer is larger than the configured limit in bytes.',
} as const

/** Codes that say that a request certainly does not fit. */
export const DOES_NOT_FIT: ReadonlySet<string> = new Set<ErrorCode>([
  'fixed-overhead',
  'overflow',
  'limit-not-positive',
])

export type ErrorCode = keyof typeof ERROR_CODES

export interface ErrorOptions {
  /** What the reader can do about it; appended to the message. */
  readonly advice?: string
  /** Fields that a program can use. Never secrets. */
  readonly fields?: Readonly<Record<string, unknown>>
  readonly retryable?: boolean
  readonly cause?: unknown
}

/** The one error class of this package. Callers branch on `code`; people read `message`. */
export class PlimsollError extends Error {
  override readonly name = 'PlimsollError'
  readonly code: ErrorCode
  readonly fields: Readonly<Record<string, unknown>>
  readonly advice: string | undefined
  readonly retryable: boolean

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    const { advice, fields = {}, retryable = false, cause } = options
    super(advice === undefined ? message : `${message} ${advice}`, cause === undefined ? undefined : { cause })
    this.code = code
    this.fields = fields
    this.advice = advice
    this.retryable = retryable
  }
}

export const isPlimsollError = (error: unknown, code?: ErrorCode): error is PlimsollError =>
  error instanceof PlimsollError && (code === undefined || error.code === code)
