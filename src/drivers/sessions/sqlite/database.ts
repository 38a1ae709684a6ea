import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isPlimsollError, PlimsollError } from '../../../core/errors.ts'
import { makeFolderSync } from '../../../util/make-folder.ts'
import { withoutExperimentalWarning } from '../../../util/without-experimental-warning.ts'
import type { Row, SqlValue } from '../sql/job.ts'
import { packageRequire, packageRoot } from '../../../util/package-root.ts'

/**
 * The little that this package asks of an SQLite library. Synchronous, one connection, statements prepared once.
 *
 * Texts are read as bytes (`CAST(… AS BLOB)`, which `asBytes` writes) and decoded here: libsql ends the whole process on a text whose bytes were
 * damaged.
 */
export interface SqliteDatabase {
  exec(sql: string): void
  all(sql: string, ...values: readonly SqlValue[]): readonly Row[]
  close(): void
}

export const asBytes = (column: string): string => `CAST(${column} AS BLOB)`

interface NativeDatabase {
  exec(sql: string): void
  prepare(sql: string): { all(...values: unknown[]): unknown[] }
  close(): void
}

type NativeConstructor = new (path: string) => NativeDatabase

const require = packageRequire()

/**
 * Opens the file, making it for this user only: 0600 in a 0700 directory, at creation and not by a later chmod. The WAL and
 * its index take the mode of the file. What exists keeps the mode its operator gave it.
 */
export function openDatabase(path: string): SqliteDatabase {
  try {
    makeFolderSync(resolve(dirname(path)), 0o700)
    make(path)
    return open(path)
  } catch (error) {
    throw engineError(error, path)
  }
}

/** Only where there is none: closing a file gives up every lock that this process has on it, those of other connections among them. */
function make(path: string): void {
  try {
    closeSync(openSync(path, 'ax', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    accessSync(path, constants.W_OK)
  }
}

function open(path: string): SqliteDatabase {
  const library = load()
  const native = new library.Database(path)
  const statements = new Map<string, ReturnType<NativeDatabase['prepare']>>()
  return {
    exec: (sql) => native.exec(sql),
    all(sql, ...values) {
      const statement = statements.get(sql) ?? native.prepare(sql)
      statements.set(sql, statement)
      return (statement.all(...library.bind(values)) as Record<string, unknown>[]).map(toRow)
    },
    close() {
      statements.clear()
      native.close()
    },
  }
}

interface Library {
  readonly Database: NativeConstructor
  /** Values as a statement takes them. */
  bind(values: readonly SqlValue[]): readonly unknown[]
}

function load(): Library {
  try {
    const ofNode = () => require('node:sqlite') as { DatabaseSync: NativeConstructor }
    return { Database: withoutExperimentalWarning(ofNode).DatabaseSync, bind: (values) => values }
  } catch {
    // Node 20 has no SQLite of its own.
  }
  try {
    // libsql takes a lone object for named parameters and aborts the process on a lone Buffer; one array is always positional.
    return { Database: libsql(), bind: (values) => [values] }
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

/** Our package brings the library for common systems, without those for others; a `libsql` of the user's own comes first. */
function libsql(): NativeConstructor {
  try {
    return require('libsql') as NativeConstructor
  } catch {
    return require(fileURLToPath(new URL('dist/libsql.cjs', packageRoot()))) as NativeConstructor
  }
}

// libsql gives blobs as ArrayBuffer, node:sqlite as Uint8Array.
function toRow(row: Record<string, unknown>): Row {
  for (const key in row) {
    const value = row[key]
    if (value instanceof ArrayBuffer) row[key] = new Uint8Array(value)
  }
  return row
}

/** Primary result codes of SQLite that mean something to us, with the reason in events, a sentence and an advice. */
const CODES: Readonly<Record<string, readonly [code: number, reason: string, sentence: string, advice: string]>> = {
  SQLITE_BUSY: [5, 'busy', 'is locked by another process', 'Try again.'],
  SQLITE_LOCKED: [6, 'busy', 'is locked by another process', 'Try again.'],
  SQLITE_READONLY: [8, 'read-only', 'cannot be written', 'Check the permissions of the file and its directory.'],
  SQLITE_IOERR: [
    10,
    'io',
    'could not be read or written by the operating system',
    'Check the disk; what was acknowledged before is intact.',
  ],
  SQLITE_CORRUPT: [
    11,
    'corrupt',
    'is damaged',
    'Keep a copy, run `plimsoll store verify`, then export what can be read.',
  ],
  SQLITE_FULL: [
    13,
    'disk-full',
    'has no room left on its disk',
    'Free some space; what was acknowledged before is intact.',
  ],
  SQLITE_CANTOPEN: [
    14,
    'cannot-open',
    'cannot be opened',
    'Check that the path exists and that this user may write there.',
  ],
  SQLITE_NOTADB: [26, 'not-a-database', 'is not an SQLite database', 'Choose another path.'],
}

/** What the file system says, as SQLite would. */
const SYSTEM: Readonly<Record<string, readonly string[]>> = {
  SQLITE_READONLY: ['EACCES', 'EPERM', 'EROFS'],
  SQLITE_FULL: ['ENOSPC', 'EDQUOT'],
  SQLITE_CANTOPEN: ['ENOENT', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ELOOP'],
}

const saidBy = (error: unknown) => Object.values(CODES).find(([code]) => code === primaryCode(error))

export const isBusy = (error: unknown): boolean => saidBy(error)?.[1] === 'busy'

/** These end the transaction as a whole, so every write in it failed. */
export const endsTransaction = (error: unknown): boolean =>
  ['busy', 'read-only', 'io', 'corrupt', 'disk-full'].includes(saidBy(error)?.[1] ?? '')

/** A typed error for what the engine or the file system reported; errors of ours pass as they are. */
export function engineError(error: unknown, path: string): unknown {
  if (isPlimsollError(error)) return error
  const said = saidBy(error)
  if (said === undefined) return error
  const [, reason, sentence, advice] = said
  return new PlimsollError('store-unavailable', `The store ${path} ${sentence}.`, {
    advice,
    fields: { path, reason },
    retryable: reason === 'busy',
    cause: error,
  })
}

/** node:sqlite reports `errcode`, libsql `rawCode` or a name, or only a sentence; the file system has codes of its own. */
function primaryCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  const { errcode, rawCode, code } = error as { errcode?: unknown; rawCode?: unknown; code?: unknown }
  if (typeof errcode === 'number') return errcode & 0xff
  if (typeof rawCode === 'number') return rawCode & 0xff
  if (typeof code === 'string') {
    const named = Object.keys(CODES).find(
      (name) => code === name || code.startsWith(`${name}_`) || SYSTEM[name]?.includes(code),
    )
    if (named !== undefined) return CODES[named]![0]
  }
  const opened = /Unable to open connection to local database .*: (\d+)/.exec(error.message)
  return opened?.[1] === undefined ? undefined : Number(opened[1]) & 0xff
}
