import { PlimsollError } from '../../core/errors.ts'
import type { MigrationReport } from '../../ports/store-maintenance.ts'
import { sealMismatch } from '../crypto/seal.ts'
import type { Postgres, Queries } from './connection.ts'

export interface Migration {
  readonly name: string
  readonly statements: readonly string[]
}

/** Tables that grow up together; several parts can live in one schema. */
export interface SchemaPart {
  readonly name: string
  /** One entry per version, never changed once released. */
  readonly migrations: readonly Migration[]
  /** What the part's rows are sealed with; another one is refused. */
  readonly seal: { readonly name: string; readonly fingerprint: string }
}

/** The connection once the tables of a part are there, with what was done for it. A failed attempt is not remembered. */
export function migrated(postgres: Postgres, part: SchemaPart): () => Promise<Postgres & { report: MigrationReport }> {
  let done: Promise<MigrationReport> | undefined
  return async () => {
    done ??= migrate(postgres, part)
    try {
      return { ...postgres, report: await done }
    } catch (error) {
      done = undefined
      throw error
    }
  }
}

/** Looks first, so that a user without the right to make tables can use a schema that is up to date. */
async function migrate(postgres: Postgres, part: SchemaPart): Promise<MigrationReport> {
  const { schema } = postgres
  const to = part.migrations.length
  const [row] = await postgres.query('SELECT to_regclass($1)::text AS meta', [`${schema}.meta`])
  const from = row?.['meta'] === null ? 0 : await versionOf(postgres, part)
  const applied =
    from === to ? [] : await postgres.transaction((queries) => climb(queries, schema, part), { patient: true })
  const [stored] = await postgres.query('SELECT value FROM meta WHERE key = $1', [`${part.name}-seal`])
  if (stored?.['value'] !== part.seal.fingerprint) {
    throw sealMismatch(`schema ${schema}`, String(stored?.['value']), part.seal)
  }
  return { from, to, applied }
}

/** All steps land in one transaction; processes that start at once wait for each other. */
async function climb(queries: Queries, schema: string, part: SchemaPart): Promise<string[]> {
  await queries.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`plimsoll migrate ${schema}`])
  await queries.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`)
  await queries.query('CREATE TABLE IF NOT EXISTS meta (key text PRIMARY KEY, value text NOT NULL)')
  const from = await versionOf(queries, part)
  const known = part.migrations.length
  if (from > known) {
    throw new PlimsollError('unsupported', `The store has schema ${from}; this package knows up to ${known}.`, {
      advice: 'Use the newer package that wrote it.',
      fields: { schema: from, supported: known, store: 'schema' },
    })
  }
  const steps = part.migrations.slice(from)
  for (const { statements } of steps) for (const statement of statements) await queries.query(statement)
  await queries.query(
    'INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value',
    [`${part.name}-version`, String(known)],
  )
  await queries.query('INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING', [
    `${part.name}-seal`,
    part.seal.fingerprint,
  ])
  return steps.map(({ name }) => name)
}

async function versionOf(queries: Queries, part: SchemaPart): Promise<number> {
  const [row] = await queries.query('SELECT value FROM meta WHERE key = $1', [`${part.name}-version`])
  return Number(row?.['value'] ?? 0)
}
