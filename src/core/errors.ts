export type ErrorCode =
  | 'bad-input'
  | 'overflow'
  | 'fixed-overhead'
  | 'limit-not-positive'
  | 'invalid-request'
  | 'budget-exceeded'
  | 'not-found'
  | 'conflict'
  | 'store-unavailable'
  | 'quota-exceeded'
  | 'forbidden'
  | 'bad-config'
  | 'upstream'
  | 'timeout'
  | 'closed'
  | 'unsupported'
  | 'corrupt'
  | 'too-large'

export interface ErrorOptions {
  /** What the reader can do about it; ends the message. */
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
