import { isPlimsollError, PlimsollError } from '../../../../core/errors.ts'
import type { ErrorCode, ErrorOptions } from '../../../../core/errors.ts'
import type { StoreProblem } from '../../../../ports/store-maintenance.ts'
import type { ArgsOf, JobName } from '../jobs.ts'
import type { Durability } from '../write-queue.ts'

/** What the thread is started with. */
export interface ThreadStart {
  readonly path: string
  readonly lockTimeoutMs: number
  /** What the thread is called in the database. */
  readonly name: string
  /** One 32-bit number: how often somebody else committed between two commits of the thread. */
  readonly commitsOfOthers: SharedArrayBuffer
}

/** A job, or what else the thread can do. Lists, since the names of fields would be copied with each message. */
export type Call =
  | readonly [id: number, job: JobName, durability: Durability | undefined, args: ArgsOf<JobName>]
  | readonly [id: number, order: Order]

export type Order = 'index-words' | 'forget-log' | 'close'

export interface Calls {
  /** By the clock of the process. */
  readonly now: number
  readonly calls: readonly Call[]
}

export type Reply =
  | readonly [id: number, value: unknown]
  | readonly [id: number, value: undefined, failure: Failure]
  /** Not an answer: the thread has the database open, or has met a record that it cannot read. */
  | 'ready'
  | StoreProblem

export interface Failure {
  readonly code: ErrorCode | undefined
  readonly message: string
  readonly options: ErrorOptions
}

/** An error of this package loses its class and fields on the way between threads, so they travel as data. */
export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error)
  if (!isPlimsollError(error)) return { code: undefined, message, options: {} }
  const { code, fields, advice, retryable, cause } = error
  return {
    code,
    // The constructor puts the advice behind the message.
    message: advice === undefined ? message : message.slice(0, -advice.length - 1),
    options: {
      fields,
      retryable,
      ...(advice !== undefined && { advice }),
      ...(cause instanceof Error && { cause: cause.message }),
    },
  }
}

export const errorOf = ({ code, message, options }: Failure): Error =>
  code === undefined ? new Error(message) : new PlimsollError(code, message, options)
