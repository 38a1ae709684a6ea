import type { Clock } from '../../../ports/clock.ts'
import type { MaintainedStore, MigrationReport, StoreProblem } from '../../../ports/store-maintenance.ts'
import { plainSeal, type Seal } from '../../crypto/seal.ts'
import { connectPostgres, type Postgres, type PostgresOptions } from '../../postgres/connection.ts'
import { migrate } from '../../postgres/migrate.ts'
import { checkedStore, DEFAULT_LIST_LIMIT, DEFAULT_SEARCH_LIMIT } from '../checked-store.ts'
import { warnOfDamage } from '../records.ts'
import { BoundedMap } from '../../../util/bounded-map.ts'
import { pagedLog, COUNTS, infoOf, int, statsOf, text, tenantNames } from '../rows.ts'
import { check, claimEpoch, findEdits, findEpochs, seen, search } from './lookups.ts'
import {
  SERVER_NOW,
  ensureTenant,
  fromColumn,
  tenantId,
  toColumn,
  type Context,
  append,
  fork,
  headOf,
  readPage,
  remove,
} from './log.ts'
import { SCHEMA_VERSION, sessionTables } from './schema.ts'

export interface PostgresStoreOptions extends PostgresOptions {
  /** Bytes of parsed epochs kept in memory. @default 8 MiB */
  cacheBytes?: number
  /** Encryption at rest. @default none */
  seal?: Seal
  /** @default the server's clock, which all machines share */
  clock?: Clock
  /** Told of each record that cannot be read; reading goes on without it. @default a process warning */
  onDamage?: (problem: StoreProblem) => void
}

const PAGE = 256
const KNOWN_TENANTS = 10_000

/**
 * For any number of proxies on any number of machines. Connects and makes its tables on first use. Statements that a broken
 * connection leaves in doubt are looked up before they are sent again, so nothing is written twice.
 */
export function postgresStore(options: PostgresStoreOptions): MaintainedStore {
  const { cacheBytes = 8 * 1024 * 1024, seal = plainSeal, clock, onDamage = warnOfDamage } = options
  const connection = connectPostgres(options)
  const context: Context = {
    seal,
    clock,
    onDamage,
    epochs: new BoundedMap(cacheBytes),
    tenants: new BoundedMap(KNOWN_TENANTS),
  }
  let migrated: Promise<MigrationReport> | undefined

  /** The connection, once the tables are there. A failed attempt is not remembered. */
  async function ready(): Promise<Postgres> {
    migrated ??= migrate(connection, sessionTables(seal))
    try {
      await migrated
    } catch (error) {
      migrated = undefined
      throw error
    }
    return connection
  }

  async function tenants(): Promise<readonly string[]> {
    const postgres = await ready()
    const rows = await postgres.query(tenantNames('name'))
    return rows.map((row) => text(row, 'name'))
  }

  return checkedStore({
    name: 'postgres',
    isShared: true,

    async append(tenant, session, records, expectedVersion, { at } = {}) {
      return append(await ready(), context, tenant, session, records, { expectedVersion, at })
    },

    read(tenant, session, afterVersion = 0) {
      let id = 0
      return pagedLog(
        async () => {
          ;({ id } = await headOf(await ready(), context, tenant, session))
          return id === 0 ? undefined : afterVersion
        },
        async (after) => readPage(await ready(), context, tenant, { id, name: session }, after, PAGE),
      )
    },

    async version(tenant, session) {
      return (await headOf(await ready(), context, tenant, session)).version
    },

    findEpochs: async (tenant, hashes) => findEpochs(await ready(), context, tenant, hashes),

    async claimEpoch(tenant, session, epoch) {
      const postgres = await ready()
      await ensureTenant(postgres, context, tenant)
      return postgres.transaction((queries) => claimEpoch(queries, context, tenant, session, epoch))
    },

    findEdits: async (tenant, keys) => findEdits(await ready(), context, tenant, keys),
    seen: async (tenant, identities, { session } = {}) => seen(await ready(), context, tenant, identities, session),

    async list(tenant, { limit = DEFAULT_LIST_LIMIT, after = '' } = {}) {
      const postgres = await ready()
      const rows = await postgres.query(
        `SELECT s.name, version, bytes, created_at, updated_at FROM sessions s JOIN tenants t ON t.id = s.tenant
         WHERE t.name = $1 AND s.name > $2 ORDER BY s.name LIMIT $3`,
        [tenant, after, limit],
      )
      return rows.map(infoOf)
    },

    search: async (tenant, query, { session, limit = DEFAULT_SEARCH_LIMIT } = {}) =>
      search(await ready(), context, tenant, query, session, limit),

    async fork(tenant, from, to, version) {
      const postgres = await ready()
      return postgres.transaction((queries) => fork(queries, context, tenant, from, to, version), { once: true })
    },

    async remove(tenant, session) {
      const postgres = await ready()
      return postgres.transaction(async (queries) => {
        const { id } = await headOf(queries, context, tenant, session)
        if (id !== 0) await remove(queries, [id])
        return id !== 0
      })
    },

    async prune(tenant, before) {
      const postgres = await ready()
      return postgres.transaction(async (queries) => {
        const rows = await queries.query(
          'SELECT id, name FROM sessions WHERE tenant = $1 AND updated_at < $2 ORDER BY name FOR UPDATE',
          [(await tenantId(queries, context, tenant)) ?? 0, before],
        )
        if (rows.length > 0)
          await remove(
            queries,
            rows.map((row) => int(row, 'id')),
          )
        return rows.map((row) => text(row, 'name'))
      })
    },

    async lease(tenant, work, holder, ttlMs) {
      const postgres = await ready()
      const rows = await postgres.query(
        `WITH now AS (SELECT COALESCE($4::bigint, ${SERVER_NOW}) AS ms)
         INSERT INTO leases AS l (tenant, work, holder, until) SELECT $1::int, $2::text, $3::text, now.ms + $5::bigint FROM now
         ON CONFLICT (tenant, work) DO UPDATE SET holder = excluded.holder, until = excluded.until
         WHERE l.holder = excluded.holder OR l.until <= (SELECT ms FROM now) RETURNING 1`,
        [await ensureTenant(postgres, context, tenant), work, holder, clock?.now() ?? null, Math.ceil(ttlMs)],
      )
      return rows.length > 0
    },

    async releaseLease(tenant, work, holder) {
      const postgres = await ready()
      const id = await tenantId(postgres, context, tenant)
      await postgres.query('DELETE FROM leases WHERE tenant = $1 AND work = $2 AND holder = $3', [
        id ?? 0,
        work,
        holder,
      ])
    },

    async getValue(tenant, key) {
      return valueOf(await ready(), tenant, key)
    },

    async setValue(tenant, key, value, ifAbsent = false, { session = null } = {}) {
      const postgres = await ready()
      const stored = [await ensureTenant(postgres, context, tenant), key, toColumn(seal.seal(tenant, value)), session]
      const write = (onConflict: string) =>
        postgres.query(
          `INSERT INTO vals (tenant, key, value, session) VALUES ($1, $2, $3, $4) ON CONFLICT (tenant, key) ${onConflict}`,
          stored,
        )
      if (!ifAbsent) {
        await write('DO UPDATE SET value = excluded.value, session = excluded.session')
        return value
      }
      await write('DO NOTHING')
      return (await valueOf(postgres, tenant, key)) ?? value
    },

    tenants,

    async check() {
      const postgres = await ready()
      return postgres.transaction(async (queries) => {
        await queries.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
        return check(queries, context)
      })
    },

    async stats() {
      const postgres = await ready()
      const [row] = await postgres.query(
        `SELECT ${COUNTS},
         (SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          WHERE n.nspname = $1 AND c.relkind = 'r') AS disk`,
        [postgres.schema],
      )
      return statsOf(row, {
        driver: 'postgres',
        schemaVersion: SCHEMA_VERSION,
        sealed: seal.name !== 'plain',
        tenants: (await tenants()).length,
      })
    },

    async migrate() {
      await ready()
      return (await migrated) ?? { from: SCHEMA_VERSION, to: SCHEMA_VERSION, applied: [] }
    },

    close: () => connection.close(),
  })

  async function valueOf(postgres: Postgres, tenant: string, key: string): Promise<string | undefined> {
    const id = await tenantId(postgres, context, tenant)
    const [row] = await postgres.query('SELECT value FROM vals WHERE tenant = $1 AND key = $2', [id ?? 0, key])
    return row === undefined ? undefined : seal.open(tenant, fromColumn(seal, text(row, 'value')))
  }
}
