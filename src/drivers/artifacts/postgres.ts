import { PlimsollError } from '../../core/errors.ts'
import { isHandle } from '../../core/handles.ts'
import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import { plainByteSeal, type ByteSeal } from '../crypto/byte-seal.ts'
import { plainSeal, type Seal } from '../crypto/seal.ts'
import { connectPostgres, type Postgres, type PostgresOptions, type Queries, type Row } from '../postgres/connection.ts'
import { migrated, type Migration, type SchemaPart } from '../postgres/migrate.ts'
import {
  artifactAddress,
  hexOf,
  sha256Of,
  tenantKey,
  hiddenName,
  statOf,
  openBytes,
  clampRange,
  checkQuota,
  expiredArtifacts,
} from './artifact.ts'

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

export interface PostgresArtifactsOptions extends PostgresOptions {
  /** Key of the handles. Keep it as long as the tables. */
  readonly secret: Uint8Array
  /** Bytes one tenant may hold. @default no limit */
  readonly quotaBytes?: number
  /** Encryption at rest: of the bytes, and of what is known about them. @default none */
  readonly seals?: { readonly bytes: ByteSeal; readonly text: Seal }
  readonly clock?: Clock
}

/**
 * Artifacts in the database, for fleets that want one thing to run and back up. Ranges are cut by the server. Readers and
 * writers of a tenant go on side by side; a prune has the tenant for itself, so nothing can be referenced while it goes.
 */
export function postgresArtifacts(options: PostgresArtifactsOptions): ArtifactStore {
  const {
    secret,
    quotaBytes = Infinity,
    seals = { bytes: plainByteSeal, text: plainSeal },
    clock = systemClock,
  } = options
  const connection = connectPostgres(options)
  const address = artifactAddress(secret)
  const keyOf = tenantKey(secret)
  let closed = false
  const open = migrated(connection, artifactTables(seals.bytes))

  function ready(): Promise<Postgres> {
    if (closed) return Promise.reject(new PlimsollError('closed', 'The artifact store is closed.'))
    return open()
  }

  /** The tenant's own names: hashes, so that any name fits and none can be read from the tables. */
  const namesOf = (tenant: string) => {
    const key = keyOf(tenant)
    return {
      tenant: hexOf(sha256Of(key)).slice(0, 40),
      session: (name: string | undefined) => (name === undefined ? null : hiddenName(key, 'session', name)),
      tool: (name: string | undefined) => (name === undefined ? null : hiddenName(key, 'tool', name)),
    }
  }

  const statFrom = (tenant: string, row: Row): ArtifactStat => {
    const stored = String(row['stat'])
    const text = seals.text.name === 'plain' ? stored : Buffer.from(stored, 'base64')
    return JSON.parse(seals.text.open(tenant, text)) as ArtifactStat
  }

  const toText = (tenant: string, stat: ArtifactStat): string => {
    const sealed = seals.text.seal(tenant, JSON.stringify(stat))
    return typeof sealed === 'string' ? sealed : Buffer.from(sealed).toString('base64')
  }

  async function find(tenant: string, handle: string): Promise<ArtifactStat | undefined> {
    const postgres = await ready()
    if (!isHandle(handle)) return undefined
    const [row] = await postgres.query('SELECT stat FROM artifacts WHERE tenant = $1 AND handle = $2', [
      namesOf(tenant).tenant,
      handle,
    ])
    return row === undefined ? undefined : statFrom(tenant, row)
  }

  /** Every change to a tenant's artifacts, beside others or alone. */
  async function change<T>(tenant: string, alone: boolean, job: (queries: Queries) => Promise<T>): Promise<T> {
    const postgres = await ready()
    return postgres.transaction(async (queries) => {
      const lock = alone ? 'pg_advisory_xact_lock' : 'pg_advisory_xact_lock_shared'
      await queries.query(`SELECT ${lock}(hashtextextended($1, 0))`, [`plimsoll artifacts ${namesOf(tenant).tenant}`])
      return job(queries)
    })
  }

  return {
    name: 'postgres',

    async put(tenant, bytes, meta = {}) {
      const names = namesOf(tenant)
      const digest = sha256Of(bytes)
      const handle = address.ofDigest(tenant, digest)
      const body = Buffer.from(seals.bytes.seal(tenant, handle, bytes))
      return change(tenant, quotaBytes !== Infinity, async (queries) => {
        const now = clock.now()
        const touch = () =>
          queries.query('UPDATE artifacts SET used_at = $3 WHERE tenant = $1 AND handle = $2 RETURNING stat', [
            names.tenant,
            handle,
            now,
          ])
        let [row] = await touch()
        if (row === undefined) {
          if (quotaBytes !== Infinity) {
            const [sum] = await queries.query(
              'SELECT COALESCE(SUM(bytes), 0) AS bytes FROM artifacts WHERE tenant = $1',
              [names.tenant],
            )
            checkQuota(Number(sum?.['bytes']), bytes.length, quotaBytes)
          }
          const stat = statOf(handle, bytes, digest, meta, now)
          await queries.query(
            `INSERT INTO artifacts (tenant, handle, bytes, stat, tool, session, created_at, used_at, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8) ON CONFLICT DO NOTHING`,
            [
              names.tenant,
              handle,
              bytes.length,
              toText(tenant, stat),
              names.tool(meta.tool),
              names.session(meta.session),
              now,
              body,
            ],
          )
          ;[row] = await touch()
        }
        if (meta.session !== undefined) await mark(queries, names.tenant, names.session(meta.session), [handle])
        return statFrom(tenant, row ?? {})
      })
    },

    async read(tenant, handle, range) {
      const stat = await find(tenant, handle)
      if (stat === undefined) return undefined
      const wanted = clampRange(range, stat.bytes)
      if (wanted.start === wanted.end && stat.bytes > 0) return new Uint8Array()
      const span = seals.bytes.span(wanted, stat.bytes)
      const postgres = await ready()
      const [row] = await postgres.query(
        'SELECT substring(body FROM $3::int FOR $4::int) AS body FROM artifacts WHERE tenant = $1 AND handle = $2',
        [namesOf(tenant).tenant, handle, span.start + 1, span.end - span.start],
      )
      return row === undefined ? undefined : openBytes(seals.bytes, tenant, stat, row['body'] as Uint8Array, wanted)
    },

    stat: find,

    async list(tenant, query = {}) {
      const postgres = await ready()
      const names = namesOf(tenant)
      const { session, tool, limit, after } = query
      const filter = `tenant = $1 AND ($2::text IS NULL OR tool = $2) AND ($3::text IS NULL OR session = $3
        OR handle IN (SELECT handle FROM artifact_marks WHERE tenant = $1 AND session = $3))`
      const values = [names.tenant, names.tool(tool), names.session(session)]
      let cursor: Row | undefined
      if (after !== undefined) {
        ;[cursor] = await postgres.query(`SELECT created_at, handle FROM artifacts WHERE ${filter} AND handle = $4`, [
          ...values,
          after,
        ])
        if (cursor === undefined) {
          throw new PlimsollError('not-found', `There is no artifact ${after} to continue after.`, {
            advice: 'List again from the start.',
          })
        }
      }
      const rows = await postgres.query(
        `SELECT stat FROM artifacts WHERE ${filter}
           AND ($4::bigint IS NULL OR created_at < $4 OR (created_at = $4 AND handle > $5::text))
         ORDER BY created_at DESC, handle LIMIT $6`,
        [...values, cursor?.['created_at'] ?? null, cursor?.['handle'] ?? null, limit ?? null],
      )
      return rows.map((row) => statFrom(tenant, row))
    },

    async reference(tenant, session, handles) {
      const names = namesOf(tenant)
      await change(tenant, false, (queries) =>
        mark(queries, names.tenant, names.session(session), handles.filter(isHandle)),
      )
    },

    async release(tenant, session) {
      const names = namesOf(tenant)
      const postgres = await ready()
      await postgres.query('DELETE FROM artifact_marks WHERE tenant = $1 AND session = $2', [
        names.tenant,
        names.session(session),
      ])
    },

    async prune(tenant, rule) {
      const names = namesOf(tenant)
      return change(tenant, true, async (queries) => {
        const rows = await queries.query(
          `SELECT handle, used_at, EXISTS (SELECT 1 FROM artifact_marks m WHERE m.tenant = a.tenant AND m.handle = a.handle) AS marked
           FROM artifacts a WHERE tenant = $1`,
          [names.tenant],
        )
        const candidates = rows.map((row) => ({
          handle: String(row['handle']),
          usedAt: Number(row['used_at']),
          referenced: row['marked'] === true,
        }))
        const gone = expiredArtifacts(candidates, rule, clock.now())
        await queries.query('DELETE FROM artifacts WHERE tenant = $1 AND handle = ANY($2::text[])', [
          names.tenant,
          gone,
        ])
        return gone
      })
    },

    async remove(tenant, handle) {
      await ready()
      if (!isHandle(handle)) return false
      const names = namesOf(tenant)
      return change(tenant, true, async (queries) => {
        await queries.query('DELETE FROM artifact_marks WHERE tenant = $1 AND handle = $2', [names.tenant, handle])
        const gone = await queries.query('DELETE FROM artifacts WHERE tenant = $1 AND handle = $2 RETURNING 1', [
          names.tenant,
          handle,
        ])
        return gone.length > 0
      })
    },

    async close() {
      closed = true
      await connection.close()
    },
  }
}

const mark = (queries: Queries, tenant: string, session: string | null, handles: readonly string[]) =>
  queries.query(
    `INSERT INTO artifact_marks (tenant, session, handle) SELECT tenant, $2::text, handle FROM artifacts
     WHERE tenant = $1 AND handle = ANY($3::text[]) ON CONFLICT DO NOTHING`,
    [tenant, session, handles],
  )
