import type { Seal } from '../../crypto/seal.ts'
import type { Migration, SchemaPart } from '../../postgres/migrate.ts'

/*
 * One entry per schema version, never changed once released. `records.batch` stands on the first record of each append: it
 * makes an append that is sent again after a broken connection collide with itself. `edit_firsts` says which edit of a key
 * was first by commit, which row ids of parallel transactions do not. Search words carry their tenant's number, so one
 * tenant's text cannot shift another's results.
 */
const MIGRATIONS: readonly Migration[] = [
  {
    name: 'logs, lookups, search, leases, values',
    statements: [
      'CREATE TABLE tenants (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE)',
      `CREATE TABLE sessions (
         id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant integer NOT NULL, name text COLLATE "C" NOT NULL,
         version bigint NOT NULL, bytes bigint NOT NULL, created_at bigint NOT NULL, updated_at bigint NOT NULL,
         UNIQUE (tenant, name))`,
      'CREATE INDEX sessions_by_age ON sessions (tenant, updated_at)',
      `CREATE TABLE records (
         id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, session bigint NOT NULL, version bigint NOT NULL, body text NOT NULL,
         sum text NOT NULL, batch uuid UNIQUE, UNIQUE (session, version))`,
      `CREATE TABLE epochs (
         tenant integer NOT NULL, cover text COLLATE "C" NOT NULL, record bigint NOT NULL, epoch text COLLATE "C" NOT NULL,
         session bigint NOT NULL, PRIMARY KEY (tenant, cover, record))`,
      'CREATE INDEX epochs_by_session ON epochs (session)',
      `CREATE TABLE undos (
         tenant integer NOT NULL, epoch text COLLATE "C" NOT NULL, session bigint NOT NULL, record bigint NOT NULL,
         PRIMARY KEY (tenant, epoch, session, record))`,
      'CREATE INDEX undos_by_session ON undos (session)',
      `CREATE TABLE edits (
         tenant integer NOT NULL, key text COLLATE "C" NOT NULL, record bigint NOT NULL, session bigint NOT NULL,
         PRIMARY KEY (tenant, key, record))`,
      'CREATE INDEX edits_by_session ON edits (session)',
      `CREATE TABLE edit_firsts (
         tenant integer NOT NULL, key text COLLATE "C" NOT NULL, record bigint NOT NULL, session bigint NOT NULL,
         PRIMARY KEY (tenant, key))`,
      'CREATE INDEX edit_firsts_by_session ON edit_firsts (session)',
      `CREATE TABLE items (
         tenant integer NOT NULL, identity text COLLATE "C" NOT NULL, session bigint NOT NULL, record bigint NOT NULL,
         PRIMARY KEY (tenant, identity, session, record))`,
      'CREATE INDEX items_by_session ON items (session)',
      'CREATE TABLE words (session bigint NOT NULL, record bigint NOT NULL, words tsvector NOT NULL)',
      'CREATE INDEX words_by_word ON words USING gin (words)',
      'CREATE INDEX words_by_session ON words (session)',
      `CREATE TABLE leases (
         tenant integer NOT NULL, work text COLLATE "C" NOT NULL, holder text COLLATE "C" NOT NULL, until bigint NOT NULL,
         PRIMARY KEY (tenant, work))`,
      `CREATE TABLE vals (
         tenant integer NOT NULL, key text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (tenant, key))`,
    ],
  },
  {
    name: 'values that go with their session',
    statements: [
      'ALTER TABLE vals ADD COLUMN session text COLLATE "C"',
      'CREATE INDEX vals_by_session ON vals (tenant, session) WHERE session IS NOT NULL',
    ],
  },
]

export const SCHEMA_VERSION = MIGRATIONS.length

export const sessionTables = (seal: Seal): SchemaPart => ({ name: 'sessions', migrations: MIGRATIONS, seal })
