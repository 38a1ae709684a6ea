import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, resolve } from 'node:path'
import { PlimsollError } from '../../../core/errors.ts'
import { makeFolderSync } from '../../../util/make-folder.ts'
import { withoutExperimentalWarning } from '../../../util/without-experimental-warning.ts'
import { engineError } from './engine-errors.ts'

export type SqlValue = string | number | Uint8Array | null
export type SqlRow = Readonly<Record<string, SqlValue>>

/** The little that this package asks of an SQLite library. Synchronous, one connection, statements prepared once. */
export interface SqliteDatabase {
  readonly engine: 'node:sqlite' | 'libsql'
  exec(sql: string): void
  run(sql: string, ...values: readonly SqlValue[]): number
  /** Inserts one row and gives its id. */
  insert(sql: string, ...values: readonly SqlValue[]): number
  all(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[]
  /** Another number as soon as another connection has committed something; commits of this one do not change it. */
  othersVersion(): number
  close(): void
}

interface NativeStatement {
  run(...values: unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  get(...values: unknown[]): unknown
  all(...values: unknown[]): unknown[]
}

interface NativeDatabase {
  exec(sql: string): void
  prepare(sql: string): NativeStatement
  close(): void
}

type NativeConstructor = new (path: string) => NativeDatabase

const require = createRequire(import.meta.url)

/**
 * Opens the file, making it for this user only: 0600 in a 0700 directory, at creation and not by a later chmod. The WAL and
 * its index take the mode of the file. What exists keeps the mode its operator gave it.
 */
export function openDatabase(path: string): SqliteDatabase {
  const { engine, open } = library()
  try {
    makeFolderSync(resolve(dirname(path)), 0o700)
    make(path)
    return wrap(engine, open(path))
  } catch (error) {
    throw engineError(error, path)
  }
}

/** Only where there is none: whoever closes a file gives up every lock that its process has on it, those of other connections among them. */
function make(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    accessSync(path, constants.W_OK)
  }
}

function library(): { engine: SqliteDatabase['engine']; open: (path: string) => NativeDatabase } {
  try {
    const load = () => require('node:sqlite') as { DatabaseSync: NativeConstructor }
    const { DatabaseSync } = withoutExperimentalWarning(load)
    return { engine: 'node:sqlite', open: (path) => new DatabaseSync(path) }
  } catch {
    // Node 20 has no SQLite of its own.
  }
  try {
    const Database = require('libsql') as NativeConstructor
    return { engine: 'libsql', open: (path) => new Database(path) }
  } catch (cause) {
    throw new PlimsollError(
      'bad-config',
      'No SQLite library: this Node has no node:sqlite and libsql is not installed.',
      {
        advice: 'Use Node 22.13 or newer, or run `npm install libsql`.',
        cause,
      },
    )
  }
}

function wrap(engine: SqliteDatabase['engine'], native: NativeDatabase): SqliteDatabase {
  const statements = new Map<string, NativeStatement>()
  // libsql takes a lone object for named parameters and aborts the process on a lone Buffer; one array is always positional.
  const bind = (values: readonly SqlValue[]): readonly unknown[] => (engine === 'libsql' ? [values] : values)
  const prepared = (sql: string): NativeStatement => {
    let statement = statements.get(sql)
    if (statement === undefined) {
      statement = native.prepare(sql)
      statements.set(sql, statement)
    }
    return statement
  }
  return {
    engine,
    exec: (sql) => native.exec(sql),
    run: (sql, ...values) => Number(prepared(sql).run(...bind(values)).changes),
    insert: (sql, ...values) => Number(prepared(sql).run(...bind(values)).lastInsertRowid),
    all: (sql, ...values) => (prepared(sql).all(...bind(values)) as Record<string, unknown>[]).map(toRow),
    othersVersion: () => (prepared('PRAGMA data_version').get() as { data_version: number }).data_version,
    close() {
      statements.clear()
      native.close()
    },
  }
}

// libsql gives blobs as ArrayBuffer, node:sqlite as Uint8Array.
function toRow(row: Record<string, unknown>): SqlRow {
  for (const key in row) {
    const value = row[key]
    if (value instanceof ArrayBuffer) row[key] = new Uint8Array(value)
  }
  return row as SqlRow
}
