import { setTimeout as delay } from 'node:timers/promises'
import { PlimsollError } from '../../../core/errors.ts'
import type { MigrationReport } from '../../../ports/store-maintenance.ts'
import type { Seal } from '../../crypto/seal.ts'
import { sealMismatch } from '../../crypto/seal-mismatch.ts'
import { text } from '../rows.ts'
import { openDatabase, type SqliteDatabase } from './database.ts'
import { engineError, isBusy } from './engine-errors.ts'
import { migrate } from './schema.ts'

/*
 * synchronous=NORMAL: a commit does not wait for the disk with the whole process. The write queue flushes the log from another thread
 * before it acknowledges, so an acknowledged record survives power loss all the same. secure_delete: what retention removed is
 * overwritten, not only unlinked.
 * wal_autocheckpoint: pages that change with every append are copied back once for sixteen megabytes of them, not for four.
 * busy_timeout is short, because the engine waits with the whole process; the patience is in the queue above it.
 */
const PRAGMAS =
  'PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = OFF; PRAGMA wal_autocheckpoint = 4000; PRAGMA busy_timeout = 20;'
// Opening may meet another process that is making the tables or recovering the log after a crash.
const OPENING_TIMEOUT_MS = 10_000
const READ_RETRY_MS = 5

export function connect(path: string, seal: Seal): { db: SqliteDatabase; migrated: MigrationReport } {
  const db = openDatabase(path)
  try {
    db.exec(`PRAGMA busy_timeout = ${OPENING_TIMEOUT_MS}`)
    const mode = text(db.all('PRAGMA journal_mode = WAL')[0], 'journal_mode')
    if (mode !== 'wal') {
      throw new PlimsollError('bad-config', `The store ${path} cannot use a write-ahead log (it says ${mode}).`, {
        advice: 'Put it on a local file system.',
      })
    }
    const migrated = migrate(db)
    checkSeal(db, seal, path)
    db.exec(PRAGMAS)
    return { db, migrated }
  } catch (error) {
    db.close()
    throw engineError(error, path)
  }
}

function checkSeal(db: SqliteDatabase, seal: Seal, path: string): void {
  const read = (): string => text(db.all("SELECT value FROM meta WHERE key = 'seal'")[0], 'value')
  if (read() === '') db.run("INSERT OR IGNORE INTO meta (key, value) VALUES ('seal', ?)", seal.fingerprint)
  const stored = read()
  if (stored !== seal.fingerprint) throw sealMismatch(path, stored, seal)
}

/** Readers wait only for a log that is being recovered; they do so without holding up the process. */
export function reading<T>(
  open: () => SqliteDatabase,
  job: (db: SqliteDatabase) => T,
  options: { readonly lockTimeoutMs: number; readonly explain: (error: unknown) => unknown },
): Promise<T> {
  try {
    return Promise.resolve(job(open()))
  } catch (error) {
    return readingAgain(open, job, options, error)
  }
}

async function readingAgain<T>(
  open: () => SqliteDatabase,
  job: (db: SqliteDatabase) => T,
  { lockTimeoutMs, explain }: { readonly lockTimeoutMs: number; readonly explain: (error: unknown) => unknown },
  failure: unknown,
): Promise<T> {
  const deadline = performance.now() + lockTimeoutMs
  for (let error = failure; ;) {
    if (!isBusy(error) || performance.now() > deadline) throw explain(error)
    await delay(READ_RETRY_MS)
    try {
      return job(open())
    } catch (again) {
      error = again
    }
  }
}
