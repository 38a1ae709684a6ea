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
 * A job for either database: it yields statements and gets the rows. SQLite runs it synchronously, so that nothing else of
 * this process interferes; Postgres waits for each answer.
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

/** The differences between SQLite and Postgres. */
export interface Dialect {
  /** A column with text, as it is selected. */
  text(column: string): string
  /** The values of a list that is given as one JSON text. */
  readonly each: string
  /** Ends a query whose rows must not change until the transaction ends. */
  readonly forUpdate: string
  /** Converts a sealed body or value for a column, and back. */
  toColumn(stored: Stored): SqlValue
  fromColumn(value: unknown): Stored
  /** Bytes of a body as `Seal` made it. */
  size(column: string): string
  /** Whether an error means that the file is damaged at this place; other places may be intact. */
  isDamage?(error: unknown): boolean
  /** The store's size on disk, in bytes. */
  readonly disk: string
  /** The server's time, for a store that several machines share. */
  readonly serverNow?: string
  /** Inserts rows that have the same columns, in their order. `ending` follows the values. */
  insert(table: string, rows: readonly Readonly<Record<string, SqlValue>>[], ending?: string): Job<readonly Row[]>
  /** Takes a lock until the transaction ends; other transactions wait for it. */
  lock?(name: string): Job<unknown>
  /** Appends carry an id: one that is sent again after a broken connection is looked for before it is written. */
  readonly hasBatches: boolean
  /** The table with the first edit of each key. */
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
  /** Writes the words of an appended text, if that is done at once. */
  addWords?(added: Added, words: readonly string[]): Job<unknown>
  /** Copies derived data other than lookups to a fork. `range` is that of `copyLookups`. */
  copyDerived?(range: string, values: readonly SqlValue[]): Job<unknown>
  /** Removes derived data other than lookups. */
  removeDerived(session: number): Job<unknown>
}

/** The context of jobs. */
export interface Context {
  readonly seal: Seal
  readonly dialect: Dialect
  now(): Job<number>
  onDamage(problem: StoreProblem): void
}
