import type { StoreProblem } from '../../../ports/store-maintenance.ts'
import type { Seal, Stored } from '../../crypto/seal.ts'

/** A row of either database. Big numbers come as text from Postgres, texts as bytes from SQLite. */
export type Row = Readonly<Record<string, unknown>>
export type SqlValue = string | number | Uint8Array | null

export interface Statement {
  /** With `?` for each value, in order. */
  readonly sql: string
  readonly values: readonly SqlValue[]
}

/**
 * Work on a database, written once for both: it yields a statement and gets the rows. SQLite runs a job through at once, so that nothing else of
 * this process comes between; Postgres waits for each answer.
 */
export type Job<T> = Generator<Statement, T, readonly Row[]>

export function* ask(sql: string, ...values: readonly SqlValue[]): Job<readonly Row[]> {
  return yield { sql, values }
}

export function runAtOnce<T>(job: Job<T>, run: (statement: Statement) => readonly Row[]): T {
  let step = job.next([])
  while (step.done !== true) {
    let rows: readonly Row[]
    try {
      rows = run(step.value)
    } catch (error) {
      // A job that goes on without what is damaged catches it at its `ask`.
      step = job.throw(error)
      continue
    }
    step = job.next(rows)
  }
  return step.value
}

export async function runInTurn<T>(job: Job<T>, run: (statement: Statement) => Promise<readonly Row[]>): Promise<T> {
  let step = job.next([])
  while (step.done !== true) step = job.next(await run(step.value))
  return step.value
}

export const int = (row: Row | undefined, column: string): number => Number(row?.[column] ?? 0)
export const text = (row: Row | undefined, column: string): string => {
  const value = row?.[column]
  if (value instanceof Uint8Array) return Buffer.from(value.buffer, value.byteOffset, value.length).toString()
  return typeof value === 'string' ? value : ''
}

/** A record that has just been written. */
export interface Added {
  readonly record: number
  readonly session: number
}

/** Where SQLite and Postgres differ. */
export interface Dialect {
  /** A column with text, as it is selected. */
  text(column: string): string
  /** The values of a list that is given as one JSON text. */
  readonly each: string
  /** Ends a query whose rows must not change until the transaction ends. */
  readonly forUpdate: string
  /** A sealed body or value on its way into a column, and out of it. */
  toColumn(stored: Stored): SqlValue
  fromColumn(value: unknown): Stored
  /** Bytes of a body as `Seal` made it. */
  size(column: string): string
  /** Whether an error says that the file is damaged where it was read; what stands elsewhere may be whole. */
  isDamage?(error: unknown): boolean
  /** Bytes that the store takes on its disk. */
  readonly disk: string
  /** What the clock of the server says, for a store that all machines share. */
  readonly serverNow?: string
  /** Inserts rows that have the same columns, in their order. `ending` follows the values. */
  insert(table: string, rows: readonly Readonly<Record<string, SqlValue>>[], ending?: string): Job<readonly Row[]>
  /** Keeps other transactions that take this lock waiting, until this one ends. */
  lock?(name: string): Job<unknown>
  /** Appends carry an id: one that is sent again after a broken connection is looked for before it is written. */
  readonly hasBatches: boolean
  /** The table that says which edit of a key was first. */
  readonly firstEdits: 'edits' | 'edit_firsts'
  /** How search words are matched: rows, the column with their record, the condition, and how words are written. */
  readonly words: {
    readonly from: string
    readonly record: string
    readonly match: string
    readonly and: string
    readonly or: string
  }
  readonly quote: string
  /** Writes the words of a text that was appended, where that does not wait. */
  addWords?(added: Added, words: readonly string[]): Job<unknown>
  /** Copies what is derived beside the lookups to a fork. `range` is that of `copyLookups`. */
  copyDerived?(range: string, values: readonly SqlValue[]): Job<unknown>
  /** Removes what is derived beside the lookups. */
  removeDerived(session: number): Job<unknown>
}

/** What jobs need beside their arguments. */
export interface Context {
  readonly seal: Seal
  readonly dialect: Dialect
  now(): Job<number>
  onDamage(problem: StoreProblem): void
}
