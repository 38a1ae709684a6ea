import type { MaintainedStore } from '../../../ports/store-maintenance.ts'
import { plainSeal, type Seal } from '../../crypto/seal.ts'
import {
  connectPostgres,
  type Postgres,
  type PostgresOptions,
  type TransactionOptions,
} from '../../postgres/connection.ts'
import { migrated } from '../../postgres/migrate.ts'
import { ask, runInTurn, type Dialect, type Job, type Statement } from '../sql/job.ts'
import { contextOf, sqlStore, type SqlStoreOptions } from '../sql/store.ts'
import { SCHEMA_VERSION, sessionTables } from './schema.ts'

export interface PostgresStoreOptions extends PostgresOptions, SqlStoreOptions {}

// Postgres holds at most a megabyte in one text-search vector; this many words of the longest kind stay far below it.
const WORDS_PER_ROW = 2000

/** Rows of a table from one JSON text: each value takes the type of its column. */
const inserted = (table: string, columns: readonly string[]): string =>
  `INSERT INTO ${table} (${columns.join(', ')}) SELECT ${columns.join(', ')} FROM json_populate_recordset(null::${table}, ?::json)`

/** Sealed bytes travel as base64: a text column serves both, and a plain store can be read with any tool. */
const dialectOf = ({ name }: Seal): Dialect => ({
  text: (column) => column,
  each: 'SELECT json_array_elements_text(?::json)',
  forUpdate: ' FOR UPDATE',
  toColumn: (stored) => (typeof stored === 'string' ? stored : Buffer.from(stored).toString('base64')),
  fromColumn: (value) => (name === 'plain' ? String(value) : Buffer.from(String(value), 'base64')),
  size: (column) => `octet_length(${name === 'plain' ? column : `decode(${column}, 'base64')`})`,
  disk: `SELECT COALESCE(SUM(pg_total_relation_size(c.oid)), 0) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = current_schema() AND c.relkind = 'r'`,
  serverNow: '(extract(epoch FROM clock_timestamp()) * 1000)::bigint',
  insert: (table, rows, ending = '') =>
    ask(`${inserted(table, Object.keys(rows[0] ?? {}))} ${ending}`, JSON.stringify(rows)),
  lock: (name) => ask('SELECT pg_advisory_xact_lock(hashtextextended(?, 0))', name),
  hasBatches: true,
  firstEdits: 'edit_firsts',
  words: { from: 'words w', record: 'w.record', match: 'w.words @@ CAST(? AS tsquery)', and: ' & ', or: ' | ' },
  quote: "'",
  *addWords({ record, session }, words) {
    for (let i = 0; i < words.length; i += WORDS_PER_ROW) {
      const some = words.slice(i, i + WORDS_PER_ROW).join(' ')
      yield* ask(
        `INSERT INTO words (session, record, words) VALUES (?, ?, array_to_tsvector(string_to_array(?, ' ')))`,
        session,
        record,
        some,
      )
    }
  },
  copyDerived: (range, values) =>
    ask(
      `INSERT INTO words (session, record, words) SELECT new.session, new.id, i.words FROM words ${range}`,
      ...values,
    ),
  /** An edit that was first gives way to the next. */
  *removeDerived(session) {
    yield* ask('DELETE FROM words WHERE session = ?', session)
    yield* ask('DELETE FROM edit_firsts WHERE session = ?', session)
    yield* ask(
      `INSERT INTO edit_firsts (tenant, key, record, session)
       SELECT DISTINCT ON (e.tenant, e.key) e.tenant, e.key, e.record, e.session
       FROM edits g JOIN edits e ON e.tenant = g.tenant AND e.key = g.key AND e.session <> g.session
       WHERE g.session = ? ORDER BY e.tenant, e.key, e.record ON CONFLICT DO NOTHING`,
      session,
    )
  },
})

/** The text with numbered values, as Postgres wants them. */
function numbered(sql: string): string {
  let count = 0
  return sql.replaceAll('?', () => `$${++count}`)
}

/**
 * For any number of proxies on any number of machines. Connects and makes its tables on first use. Transactions that a broken
 * connection leaves in doubt are looked up before they are written again, so nothing is written twice.
 */
export function postgresStore(options: PostgresStoreOptions): MaintainedStore {
  const { seal = plainSeal } = options
  const connection = connectPostgres(options)
  const dialect = dialectOf(seal)
  const ready = migrated(connection, sessionTables(seal))

  const send =
    ({ query }: Pick<Postgres, 'query'>) =>
    ({ sql, values }: Statement) =>
      query(numbered(sql), values)

  async function transact<T>(job: (isAgain: boolean) => Job<T>, how: TransactionOptions = {}): Promise<T> {
    const postgres = await ready()
    let attempts = 0
    return postgres.transaction((queries) => runInTurn(job(attempts++ > 0), send(queries)), how)
  }

  return sqlStore(
    'postgres',
    {
      dialect,
      schemaVersion: SCHEMA_VERSION,
      isShared: true,
      read: async (job) => runInTurn(job(), send(await ready())),
      // In one snapshot, so that live writers do not disturb it.
      check: (job) =>
        transact(
          function* () {
            yield* ask('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
            return yield* job()
          },
          { patient: true },
        ),
      write: transact,
      migrate: async () => (await ready()).report,
      close: () => connection.close(),
    },
    contextOf(dialect, options),
  )
}
