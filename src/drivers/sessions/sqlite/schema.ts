import { setTimeout as delay } from 'node:timers/promises'
import { PlimsollError } from '../../../core/errors.ts'
import type { MigrationReport } from '../../../ports/store-maintenance.ts'
import { type Seal, sealMismatch } from '../../crypto/seal.ts'
import { text } from '../sql/job.ts'
import { asBytes, engineError, isBusy, openDatabase, type SqliteDatabase } from './database.ts'

interface Migration {
  readonly name: string
  readonly sql: string
}

/*
 * One entry per schema version, never changed once released. `records.id` only grows, so it also says who was first.
 * Search words carry their tenant's number, so one tenant's text cannot shift another's results; `ascii` splits at our own
 * blanks only and takes every other script as it is. secure-delete takes removed words out of the index at once. It needs the
 * words stored: contentless tables keep them until the next merge, or fail their own integrity check (SQLite 3.45).
 */
const MIGRATIONS: readonly Migration[] = [
  {
    name: 'logs, lookups, search, leases, values',
    sql: `
      CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
      CREATE TABLE tenants (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
      CREATE TABLE sessions (
        id INTEGER PRIMARY KEY AUTOINCREMENT, tenant INTEGER NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
        bytes INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, UNIQUE (tenant, name)
      ) STRICT;
      CREATE INDEX sessions_by_age ON sessions (tenant, updated_at);
      CREATE TABLE records (
        id INTEGER PRIMARY KEY AUTOINCREMENT, session INTEGER NOT NULL, version INTEGER NOT NULL, body ANY NOT NULL,
        sum TEXT NOT NULL, UNIQUE (session, version)
      ) STRICT;
      CREATE TABLE epochs (
        tenant INTEGER NOT NULL, cover TEXT NOT NULL, record INTEGER NOT NULL, epoch TEXT NOT NULL, session INTEGER NOT NULL,
        PRIMARY KEY (tenant, cover, record)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX epochs_by_session ON epochs (session);
      CREATE TABLE undos (
        tenant INTEGER NOT NULL, epoch TEXT NOT NULL, session INTEGER NOT NULL, record INTEGER NOT NULL,
        PRIMARY KEY (tenant, epoch, session, record)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX undos_by_session ON undos (session);
      CREATE TABLE edits (
        tenant INTEGER NOT NULL, key TEXT NOT NULL, record INTEGER NOT NULL, session INTEGER NOT NULL,
        PRIMARY KEY (tenant, key, record)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX edits_by_session ON edits (session);
      CREATE TABLE items (
        tenant INTEGER NOT NULL, identity TEXT NOT NULL, session INTEGER NOT NULL, record INTEGER NOT NULL,
        PRIMARY KEY (tenant, identity, session, record)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX items_by_session ON items (session, record);
      CREATE VIRTUAL TABLE words USING fts5(tokens, detail=none, tokenize='ascii');
      INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
      CREATE TABLE leases (
        tenant INTEGER NOT NULL, work TEXT NOT NULL, holder TEXT NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (tenant, work)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE vals (
        tenant INTEGER NOT NULL, key TEXT NOT NULL, value ANY NOT NULL, PRIMARY KEY (tenant, key)
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    name: 'search words after the write, no index by age',
    // `words` is the newest record whose words are in the index; all of them were, so far. An index by age changed with every append,
    // for the sake of `prune`, which may as well look at each session.
    sql: `
      INSERT INTO meta (key, value) SELECT 'words', CAST(COALESCE(MAX(id), 0) AS TEXT) FROM records;
      DROP INDEX sessions_by_age;
    `,
  },
  {
    name: 'values that go with their session',
    sql: `
      ALTER TABLE vals ADD COLUMN session TEXT;
      CREATE INDEX vals_by_session ON vals (tenant, session) WHERE session IS NOT NULL;
    `,
  },
]

export const SCHEMA_VERSION = MIGRATIONS.length

const schemaVersion = (db: SqliteDatabase): number => Number(db.all('PRAGMA user_version')[0]?.['user_version'] ?? 0)

/** Each step and its number land in one transaction: a kill leaves the version before or the version after. */
function migrate(db: SqliteDatabase): MigrationReport {
  const from = schemaVersion(db)
  if (from > SCHEMA_VERSION) {
    throw new PlimsollError(
      'unsupported',
      `The store has schema ${from}; this package knows up to ${SCHEMA_VERSION}.`,
      {
        advice: 'Use the newer package that wrote it.',
        fields: { schema: from, supported: SCHEMA_VERSION, store: 'schema' },
      },
    )
  }
  const applied: string[] = []
  while (schemaVersion(db) < SCHEMA_VERSION) {
    db.exec('BEGIN IMMEDIATE')
    try {
      // Asked again under the lock: another process may have been faster.
      const version = schemaVersion(db)
      const step = MIGRATIONS[version]
      if (step !== undefined) {
        db.exec(step.sql)
        db.exec(`PRAGMA user_version = ${version + 1}`)
        applied.push(step.name)
      }
      db.exec('COMMIT')
    } catch (error) {
      db.exec('ROLLBACK')
      throw error
    }
  }
  return { from, to: SCHEMA_VERSION, applied }
}

/*
 * synchronous=NORMAL: a commit does not wait for the disk with the whole process. The write queue flushes the log from another thread
 * before it acknowledges, so an acknowledged record survives power loss all the same. secure_delete: what retention removed is
 * overwritten, not only unlinked.
 * wal_autocheckpoint: pages that change with every append are copied back once for sixteen megabytes of them, not for four.
 * busy_timeout is 0, since the engine would wait with the whole process: reads and writes try again instead.
 */
const PRAGMAS = `PRAGMA synchronous = NORMAL; PRAGMA secure_delete = ON; PRAGMA foreign_keys = OFF;
  PRAGMA wal_autocheckpoint = 4000;`
/** Opening may meet another process that is making the tables or recovering the log after a crash. */
const OPENING_TIMEOUT_MS = 10_000
const AGAIN_MS = 10

export interface Connection {
  readonly db: SqliteDatabase
  readonly migrated: MigrationReport
}

export async function connect(path: string, seal: Seal): Promise<Connection> {
  const deadline = performance.now() + OPENING_TIMEOUT_MS
  for (;;) {
    const db = openDatabase(path)
    try {
      return { db, migrated: setUp(db, path, seal) }
    } catch (error) {
      db.close()
      if (!isBusy(error) || performance.now() > deadline) throw engineError(error, path)
    }
    await delay(AGAIN_MS * (0.5 + Math.random()))
  }
}

function setUp(db: SqliteDatabase, path: string, seal: Seal): MigrationReport {
  db.exec('PRAGMA busy_timeout = 0')
  const mode = text(db.all('PRAGMA journal_mode = WAL')[0], 'journal_mode')
  if (mode !== 'wal') {
    throw new PlimsollError('bad-config', `The store ${path} cannot use a write-ahead log (it says ${mode}).`, {
      advice: 'Put it on a local file system.',
    })
  }
  const migrated = migrate(db)
  checkSeal(db, seal, path)
  indexAgain(db)
  db.exec(PRAGMAS)
  return migrated
}

/**
 * 0.2.0 put words in as they were written. They are found until their stems take their place, in slices and with the first search. No schema of
 * its own: 0.2.0 reads the table as it is.
 */
function indexAgain(db: SqliteDatabase): void {
  if (db.all("SELECT 1 FROM meta WHERE key = 'stems'").length > 0) return
  db.exec(`BEGIN IMMEDIATE; UPDATE meta SET value = '0' WHERE key = 'words';
    INSERT OR IGNORE INTO meta (key, value) VALUES ('stems', '1'); COMMIT`)
}

function checkSeal(db: SqliteDatabase, seal: Seal, path: string): void {
  const read = (): string => text(db.all(`SELECT ${asBytes('value')} AS seal FROM meta WHERE key = 'seal'`)[0], 'seal')
  if (read() === '') db.all("INSERT OR IGNORE INTO meta (key, value) VALUES ('seal', ?)", seal.fingerprint)
  const stored = read()
  if (stored !== seal.fingerprint) throw sealMismatch(path, stored, seal)
}
