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

export interface Others {
  /** Another text as soon as somebody who is neither this connection nor the writer of that name has committed. */
  version(db: SqliteDatabase): string
  /** What `version` said where the writer had counted so many commits of others and its own was the last. */
  asOf(commitsOfOthers: number): string
}

/** What a writer says of itself in memory that both threads see. */
export interface WriterCounts {
  /** How often somebody else committed between two of its commits: counted before it commits. */
  commitsOfOthers(): number
  /** Counted when the commit is made. */
  commits(): number
}

/**
 * A package that leaves no name is heard where something was committed and the writer did not; where both did, when the writer begins its next
 * transaction.
 */
export function othersThan(name: string, counts: WriterCounts): Others {
  let seen: number | undefined
  let counted = 0
  let last = ''
  let unnamed = 0
  const asOf = (commitsOfOthers: number): string => `${commitsOfOthers} ${unnamed}`
  return {
    asOf,
    version(db) {
      const commits = counts.commits()
      const version = db.othersVersion()
      if (version !== seen) {
        last = text(db.all("SELECT value FROM meta WHERE key = 'writer'")[0], 'value')
        if (commits === counted) unnamed++
      }
      seen = version
      counted = commits
      // Read after the name.
      return last === name ? asOf(counts.commitsOfOthers()) : `${last} ${version}`
    },
  }
}
