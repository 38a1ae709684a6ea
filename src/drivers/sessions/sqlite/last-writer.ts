import { text } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'

/**
 * A connection hears that another one has committed, and not whose that is. Where a thread of this process does the writing, what the
 * process has read ahead is as good after a commit of that thread as before. So each writer leaves its name in the database, in its first
 * commit and in each that follows on somebody else's.
 */
export interface WriterMark {
  /** A transaction has begun: from here on nobody else commits. */
  begin(db: SqliteDatabase): void
  /** It was taken back, and the name with it. */
  rollback(): void
}

/** `onOthers`: somebody else has committed since this writer last did. */
export function writerMark(name: string, onOthers: () => void): WriterMark {
  let seen: number | undefined
  return {
    begin(db) {
      const version = db.othersVersion()
      if (version === seen) return
      onOthers()
      db.run(
        "INSERT INTO meta (key, value) VALUES ('writer', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        name,
      )
      seen = version
    },
    rollback: () => void (seen = undefined),
  }
}

/**
 * Another text as soon as somebody who is neither this connection nor the writer of that name has committed. A package that leaves no name
 * is heard when the writer begins its next transaction.
 */
export function othersThan(name: string, commitsOfOthers: () => number): (db: SqliteDatabase) => string {
  let seen: number | undefined
  let last = ''
  return (db) => {
    const version = db.othersVersion()
    if (version !== seen) last = text(db.all("SELECT value FROM meta WHERE key = 'writer'")[0], 'value')
    seen = version
    // The writer counts before it commits: the count is read after the name.
    return last === name ? `${commitsOfOthers()}` : `${last} ${version}`
  }
}
