import { PlimsollError, isPlimsollError } from '../../../core/errors.ts'

/** Primary result codes of SQLite that mean something to us. */
const BUSY = 5
const LOCKED = 6
const READONLY = 8
const IOERR = 10
const CORRUPT = 11
const FULL = 13
const CANTOPEN = 14
const NOTADB = 26

const NAMES: Record<string, number> = {
  SQLITE_BUSY: BUSY,
  SQLITE_LOCKED: LOCKED,
  SQLITE_READONLY: READONLY,
  SQLITE_IOERR: IOERR,
  SQLITE_CORRUPT: CORRUPT,
  SQLITE_FULL: FULL,
  SQLITE_CANTOPEN: CANTOPEN,
  SQLITE_NOTADB: NOTADB,
}

const SAID: Record<number, readonly [reason: string, sentence: string, advice: string]> = {
  [BUSY]: ['busy', 'is locked by another process', 'Try again.'],
  [LOCKED]: ['busy', 'is locked by another process', 'Try again.'],
  [READONLY]: ['read-only', 'cannot be written', 'Check the permissions of the file and its directory.'],
  [IOERR]: [
    'io',
    'could not be read or written by the operating system',
    'Check the disk; what was acknowledged before is intact.',
  ],
  [CORRUPT]: ['corrupt', 'is damaged', 'Keep a copy, run `plimsoll store verify`, then export what can be read.'],
  [FULL]: ['disk-full', 'has no room left on its disk', 'Free some space; what was acknowledged before is intact.'],
  [CANTOPEN]: ['cannot-open', 'cannot be opened', 'Check that the path exists and that this user may write there.'],
  [NOTADB]: ['not-a-database', 'is not an SQLite database', 'Choose another path.'],
}

export const isBusy = (error: unknown): boolean => [BUSY, LOCKED].includes(primaryCode(error) ?? 0)

/** These end the transaction as a whole, so every write in it failed. */
export const endsTransaction = (error: unknown): boolean =>
  [BUSY, LOCKED, READONLY, IOERR, CORRUPT, FULL].includes(primaryCode(error) ?? 0)

/** A typed error for what the engine or the file system reported; errors of ours pass as they are. */
export function engineError(error: unknown, path: string): unknown {
  if (isPlimsollError(error)) return error
  const code = primaryCode(error)
  const said = code === undefined ? undefined : SAID[code]
  if (said === undefined) return error
  const [reason, sentence, advice] = said
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
    const named = Object.entries(NAMES).find(([name]) => code === name || code.startsWith(`${name}_`))
    if (named !== undefined) return named[1]
    if (['EACCES', 'EPERM', 'EROFS'].includes(code)) return READONLY
    if (['ENOSPC', 'EDQUOT'].includes(code)) return FULL
    if (['ENOENT', 'ENOTDIR', 'EISDIR', 'EEXIST', 'ELOOP'].includes(code)) return CANTOPEN
  }
  const opened = /Unable to open connection to local database .*: (\d+)/.exec(error.message)
  return opened?.[1] === undefined ? undefined : Number(opened[1]) & 0xff
}
