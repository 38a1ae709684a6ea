import { PlimsollError } from '../../../core/errors.ts'
import type { MigrationReport } from '../../../ports/store-maintenance.ts'
import type { Seal } from '../../crypto/seal.ts'
import type { Postgres, Queries } from '../../postgres/connection.ts'
import { sealMismatch } from '../seal-mismatch.ts'

interface Migration {
  readonly name: string
  readonly statements: readonly string[]
}

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
]

export const SCHEMA_VERSION = MIGRATIONS.length

/** Looks first, so that a user without the right to make tables can use a schema that is up to date. */
export async function migrate(postgres: Postgres, seal: Seal): Promise<MigrationReport> {
  const { schema } = postgres
  const [row] = await postgres.query('SELECT to_regclass($1)::text AS meta', [`${schema}.meta`])
  const from = row?.['meta'] === null ? 0 : await versionOf(postgres)
  const applied = from === SCHEMA_VERSION ? [] : await postgres.transaction((queries) => climb(queries, schema, seal))
  const [stored] = await postgres.query("SELECT value FROM meta WHERE key = 'seal'")
  if (stored?.['value'] !== seal.fingerprint) throw sealMismatch(`schema ${schema}`, String(stored?.['value']), seal)
  return { from, to: SCHEMA_VERSION, applied }
}

/** All steps land in one transaction; processes that start at once wait for each other. */
async function climb(queries: Queries, schema: string, seal: Seal): Promise<string[]> {
  await queries.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`plimsoll migrate ${schema}`])
  await queries.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  await queries.query('CREATE TABLE IF NOT EXISTS meta (key text PRIMARY KEY, value text NOT NULL)')
  const from = await versionOf(queries)
  if (from > SCHEMA_VERSION) {
    throw new PlimsollError(
      'unsupported',
      `The store has schema ${from}; this package knows up to ${SCHEMA_VERSION}.`,
      {
        advice: 'Use the newer package that wrote it.',
        fields: { schema: from, supported: SCHEMA_VERSION },
      },
    )
  }
  const steps = MIGRATIONS.slice(from)
  for (const { statements } of steps) for (const statement of statements) await queries.query(statement)
  await queries.query(
    "INSERT INTO meta (key, value) VALUES ('version', $1) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
    [String(SCHEMA_VERSION)],
  )
  await queries.query("INSERT INTO meta (key, value) VALUES ('seal', $1) ON CONFLICT (key) DO NOTHING", [
    seal.fingerprint,
  ])
  return steps.map(({ name }) => name)
}

async function versionOf(queries: Queries): Promise<number> {
  const [row] = await queries.query("SELECT value FROM meta WHERE key = 'version'")
  return Number(row?.['value'] ?? 0)
}
