import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import type { ByteSeal } from '../crypto/byte-seal.ts'
import type { Seal } from '../crypto/seal.ts'
import { connectPostgres, type Postgres, type PostgresOptions, type Queries, type Row } from '../postgres/connection.ts'
import { migrated, type Migration, type SchemaPart } from '../postgres/migrate.ts'
import { expiredArtifacts, hexOf, hiddenName, readStat, sha256Of, unlessDamaged } from './artifact.ts'
import { artifactStore, PLAIN, type ArtifactStoreOptions, type TenantArtifacts } from './store.ts'

/*
 * `tenant`, `tool` and `session` are keyed hashes; `stat` is the artifact's description as it was first put. EXTERNAL keeps
 * the bytes uncompressed, so that the server reads only the part that a range asks for.
 */
const MIGRATIONS: readonly Migration[] = [
  {
    name: 'artifacts and their references',
    statements: [
      `CREATE TABLE artifacts (
         tenant text COLLATE "C" NOT NULL, handle text COLLATE "C" NOT NULL, bytes bigint NOT NULL, stat text NOT NULL,
         tool text COLLATE "C", session text COLLATE "C", created_at bigint NOT NULL, used_at bigint NOT NULL, body bytea NOT NULL,
         PRIMARY KEY (tenant, handle))`,
      'ALTER TABLE artifacts ALTER COLUMN body SET STORAGE EXTERNAL',
      'CREATE INDEX artifacts_by_age ON artifacts (tenant, created_at DESC, handle)',
      `CREATE TABLE artifact_marks (
         tenant text COLLATE "C" NOT NULL, session text COLLATE "C" NOT NULL, handle text COLLATE "C" NOT NULL,
         PRIMARY KEY (tenant, session, handle))`,
      'CREATE INDEX artifact_marks_by_handle ON artifact_marks (tenant, handle)',
    ],
  },
]

const artifactTables = (seal: ByteSeal): SchemaPart => ({ name: 'artifacts', migrations: MIGRATIONS, seal })

export interface PostgresArtifactsOptions extends PostgresOptions, ArtifactStoreOptions {}

/**
 * Artifacts in the database, for fleets that want one thing to run and back up. Ranges are cut by the server. Readers and
 * writers of a tenant go on side by side; a prune has the tenant for itself, so nothing can be referenced while it goes.
 */
export function postgresArtifacts(options: PostgresArtifactsOptions): ArtifactStore {
  const { seals = PLAIN } = options
  const connection = connectPostgres(options)
  const ready = migrated(connection, artifactTables(seals.bytes))
  return artifactStore(
    {
      name: 'postgres',
      open: async (tenant, key) => tenantArtifacts(await ready(), tenant, key, seals.text),
      close: () => connection.close(),
    },
    options,
  )
}

/**
 * `key` makes the tenant's own names: hashes, so that any name fits and none can be read from the tables. One function, since it is a list of
 * calls.
 */
function tenantArtifacts(postgres: Postgres, tenant: string, key: Uint8Array, seal: Seal): TenantArtifacts {
  const owner = hexOf(sha256Of(key)).slice(0, 40)
  const hidden = (kind: string, name: string | undefined): string | null =>
    name === undefined ? null : hiddenName(key, kind, name)

  const statFrom = (row: Row): ArtifactStat => {
    const stored = String(row['stat'])
    return readStat(() => seal.open(tenant, seal.name === 'plain' ? stored : Buffer.from(stored, 'base64')))
  }

  const toText = (stat: ArtifactStat): string => {
    const sealed = seal.seal(tenant, JSON.stringify(stat))
    return typeof sealed === 'string' ? sealed : Buffer.from(sealed).toString('base64')
  }

  /** Every change to a tenant's artifacts, beside others or alone. */
  const change = <T>(alone: boolean, job: (queries: Queries) => Promise<T>): Promise<T> =>
    postgres.transaction(
      async (queries) => {
        const lock = alone ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared'
        await queries.query(`SELECT ${lock}(hashtextextended($1, 0))`, [`plimsoll artifacts ${owner}`])
        return job(queries)
      },
      { patient: alone },
    )

  return {
    put: ({ handle, stat, sealed, session, now }) =>
      change(false, async (queries) => {
        const touch = () =>
          queries.query('UPDATE artifacts SET used_at = $3 WHERE tenant = $1 AND handle = $2 RETURNING stat', [
            owner,
            handle,
            now,
          ])
        let [row] = await touch()
        if (row === undefined) {
          const body = Buffer.from(sealed())
          await queries.query(
            `INSERT INTO artifacts (tenant, handle, bytes, stat, tool, session, created_at, used_at, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8) ON CONFLICT DO NOTHING`,
            [owner, handle, stat.bytes, toText(stat), hidden('tool', stat.tool), hidden('session', session), now, body],
          )
          ;[row] = await touch()
        }
        if (session !== undefined) await mark(queries, owner, hidden('session', session), [handle])
        return statFrom(row!)
      }),

    async stat(handle) {
      const sql = 'SELECT stat FROM artifacts WHERE tenant = $1 AND handle = $2'
      const [row] = await postgres.query(sql, [owner, handle])
      return row && statFrom(row)
    },

    async bytes(handle, span) {
      const part = span === undefined ? 'body' : 'substring(body FROM $3::int FOR $4::int)'
      const [row] = await postgres.query(
        `SELECT ${part} AS body FROM artifacts WHERE tenant = $1 AND handle = $2`,
        span === undefined ? [owner, handle] : [owner, handle, span.start + 1, span.end - span.start],
      )
      return row?.['body'] as Uint8Array | undefined
    },

    async stats() {
      const rows = await postgres.query('SELECT stat FROM artifacts WHERE tenant = $1', [owner])
      const stats = await Promise.all(rows.map((row) => unlessDamaged(Promise.resolve(row).then(statFrom))))
      return stats.filter((stat) => stat !== undefined)
    },

    async marksOf(session) {
      const rows = await postgres.query('SELECT handle FROM artifact_marks WHERE tenant = $1 AND session = $2', [
        owner,
        hidden('session', session),
      ])
      const marked = new Set(rows.map((row) => row['handle']))
      return (handle) => marked.has(handle)
    },

    async mark(session, handles) {
      await change(false, (queries) => mark(queries, owner, hidden('session', session), handles))
    },

    release: (session) =>
      postgres.query('DELETE FROM artifact_marks WHERE tenant = $1 AND session = $2', [
        owner,
        hidden('session', session),
      ]),

    prune: (rule, now) =>
      change(true, async (queries) => {
        const rows = await queries.query(
          `SELECT handle, used_at, EXISTS (SELECT 1 FROM artifact_marks m WHERE m.tenant = a.tenant AND m.handle = a.handle) AS marked
           FROM artifacts a WHERE tenant = $1`,
          [owner],
        )
        const candidates = rows.map((row) => ({
          handle: String(row['handle']),
          usedAt: Number(row['used_at']),
          referenced: row['marked'] === true,
        }))
        const gone = expiredArtifacts(candidates, rule, now)
        await queries.query('DELETE FROM artifacts WHERE tenant = $1 AND handle = ANY($2::text[])', [owner, gone])
        return gone
      }),

    remove: (handle) =>
      change(true, async (queries) => {
        await queries.query('DELETE FROM artifact_marks WHERE tenant = $1 AND handle = $2', [owner, handle])
        const sql = 'DELETE FROM artifacts WHERE tenant = $1 AND handle = $2 RETURNING 1'
        return (await queries.query(sql, [owner, handle])).length > 0
      }),
  }
}

const mark = (queries: Queries, tenant: string, session: string | null, handles: readonly string[]) =>
  queries.query(
    `INSERT INTO artifact_marks (tenant, session, handle) SELECT tenant, $2::text, handle FROM artifacts
     WHERE tenant = $1 AND handle = ANY($3::text[]) ON CONFLICT DO NOTHING`,
    [tenant, session, handles],
  )
