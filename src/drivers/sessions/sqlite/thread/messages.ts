import { isPlimsollError, PlimsollError, type ErrorCode, type ErrorOptions } from '../../../../core/errors.ts'
import type { StoreProblem } from '../../../../ports/store-maintenance.ts'
import type { ArgsOf, JobName } from '../jobs.ts'
import type { Durability } from '../write-queue.ts'

/** What the thread is started with. */
export interface ThreadStart {
  readonly path: string
  readonly lockTimeoutMs: number
  /** What the thread is called in the database. */
  readonly name: string
  /** Two 32-bit numbers: how often somebody else committed between two commits of the thread, and its own commits. */
  readonly counts: SharedArrayBuffer
  /** The process goes by a clock of its own, and says with each message what time it is. */
  readonly hasOwnClock: boolean
}

/** Where the two numbers stand. */
export const OF_OTHERS = 0
export const OWN = 1

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

export interface Replies {
  readonly replies: readonly Reply[]
  /** Commits of others as of the last commit. */
  readonly commitsOfOthers: number
  /** Something acknowledged is not on disk yet; another message says when it is. */
  readonly isOwed: boolean
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
  /** Of an error that is not of this package: what it is called and what its engine calls it. */
  readonly foreign?: Readonly<Record<string, unknown>>
}

/** An error of this package loses its class and fields on the way between threads, so they travel as data. */
export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error)
  if (!isPlimsollError(error)) {
    const { name, code, rawCode, stack } = error as {
      name?: unknown
      code?: unknown
      rawCode?: unknown
      stack?: unknown
    }
    return { code: undefined, message, options: {}, foreign: { name, code, rawCode, stack } }
  }
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

export const errorOf = ({ code, message, options, foreign }: Failure): Error =>
  code === undefined ? Object.assign(new Error(message), foreign) : new PlimsollError(code, message, options)
