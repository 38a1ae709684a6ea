import { messageOf } from '../../core/values.ts'
import { setTimeout as delay } from 'node:timers/promises'
import type { Pool, PoolClient, QueryResultRow } from 'pg'
import { PlimsollError, isPlimsollError } from '../../core/errors.ts'
import { importOptional } from '../optional-package.ts'

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. */
  url: string
  /** Connections of this process. @default 10 */
  poolSize?: number
  /** How long a call tries to reach the server again before it fails. @default 10_000 */
  retryForMs?: number
  /** A schema of its own for every table of ours. @default 'plimsoll' */
  schema?: string
}

export type Row = Readonly<Record<string, unknown>>

/** Runs statements that are prepared once per connection; the text is the name. */
export interface Queries {
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>
}

export type Postgres = ReturnType<typeof connectPostgres>

const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 1000

/**
 * A pool that survives its server: connects on first use, waits with growing pauses while the server is away, and says
 * `store-unavailable` after `retryForMs`.
 */
export function connectPostgres(options: PostgresOptions) {
  const { url, poolSize = 10, retryForMs = 10_000, schema = 'plimsoll' } = options
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new PlimsollError(
      'bad-config',
      `A schema's name has lower-case letters, digits and underscores; ${JSON.stringify(schema)} has others.`,
    )
  }
  let pool: Promise<Pool> | undefined
  let closed = false

  /** Runs `job` on a connection, and again on a new one when the connection broke and `job` may run twice. */
  async function withClient<T>(job: (client: PoolClient) => Promise<T>, repeatable: boolean): Promise<T> {
    const deadline = performance.now() + retryForMs
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      if (closed) throw new PlimsollError('closed', 'The store is closed.')
      let connection: PoolClient | undefined
      try {
        pool ??= openPool(url, poolSize, schema)
        connection = await (await pool).connect()
        const result = await job(connection)
        connection.release()
        return result
      } catch (error) {
        // A connection that broke, or that may still be inside a transaction, must not go back into the pool.
        connection?.release(isBroken(error) ? true : undefined)
        const isSent = connection !== undefined
        const again = isSent ? isTransient(error) || (repeatable && isBroken(error)) : isUnreachable(error)
        if (!again || performance.now() + wait > deadline) throw explain(error, isSent)
      }
      // Jitter keeps a fleet of proxies from knocking at the same moment.
      await delay(wait * (0.5 + Math.random()))
    }
  }

  return {
    schema,
    /** A statement that may run twice without harm is sent again when the connection broke. */
    query: (text: string, values: readonly unknown[] = []): Promise<readonly Row[]> =>
      withClient((connection) => run(connection, text, values), true),
    /** Commits when `job` resolves. Sent again when the connection broke, unless `once` is asked for. */
    transaction: <T>(job: (queries: Queries) => Promise<T>, { once = false } = {}): Promise<T> =>
      withClient(async (connection) => {
        await connection.query('BEGIN')
        try {
          const result = await job({ query: (text, values = []) => run(connection, text, values) })
          await connection.query('COMMIT')
          return result
        } catch (error) {
          if (!isBroken(error)) await connection.query('ROLLBACK')
          throw error
        }
      }, !once),
    async close(): Promise<void> {
      closed = true
      const open = await pool?.catch(() => undefined)
      pool = undefined
      await open?.end()
    },
  }
}

async function openPool(url: string, poolSize: number, schema: string): Promise<Pool> {
  const { default: pg } = await importOptional<typeof import('pg')>('pg', 'The Postgres store')
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    connectionTimeoutMillis: 5000,
    idleTimeoutMillis: 30_000,
    application_name: 'plimsoll',
    options: `-c search_path=${schema}`,
  })
  // A connection that breaks says so through the call that uses it, or is replaced when it was idle; an error event that
  // has no listener would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => void client.on('error', () => {}))
  return pool
}

const names = new Map<string, string>()

async function run(client: PoolClient, text: string, values: readonly unknown[]): Promise<readonly Row[]> {
  let name = names.get(text)
  if (name === undefined) {
    name = `plimsoll_${names.size + 1}`
    names.set(text, name)
  }
  const { rows } = await client.query<QueryResultRow>({ name, text, values: [...values] })
  return rows
}

const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | undefined)?.code
  return typeof code === 'string' ? code : ''
}

const NETWORK = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EAI_AGAIN',
  'ENOTFOUND',
]
// Shutting down, crashed, starting up, too many connections, and the whole class of connection errors.
const SERVER_AWAY = /^(57P0[123]|53300|08...)$/

/** The server could not be reached: nothing was sent. */
const isUnreachable = (error: unknown): boolean =>
  NETWORK.includes(codeOf(error)) ||
  SERVER_AWAY.test(codeOf(error)) ||
  /timeout exceeded|Connection terminated/.test(messageOf(error))

/** The connection is gone: what was sent may or may not have happened. */
const isBroken = (error: unknown): boolean => !isPlimsollError(error) && isUnreachable(error)

/** Two transactions stood in each other's way and this one was rolled back. */
const isTransient = (error: unknown): boolean => ['40001', '40P01'].includes(codeOf(error))

/** Authentication, missing databases and full disks are told apart from a server that is away. */
function explain(error: unknown, sent: boolean): unknown {
  if (isPlimsollError(error)) return error
  const code = codeOf(error)
  if (isUnreachable(error)) {
    const said = sent ? 'closed the connection before it answered' : 'cannot be reached'
    return new PlimsollError('store-unavailable', `The Postgres server ${said}: ${messageOf(error)}.`, {
      advice: 'Check that it runs and that the address is right.',
      fields: { reason: sent ? 'connection-lost' : 'unreachable' },
      retryable: true,
      cause: error,
    })
  }
  if (/^(28|3D)/.test(code)) {
    return new PlimsollError('bad-config', `The Postgres server refused the connection: ${messageOf(error)}.`, {
      cause: error,
    })
  }
  if (/^(53|58|25006|42501|XX)/.test(code)) {
    const reason = code === '53100' ? 'disk-full' : code === '25006' || code === '42501' ? 'read-only' : 'server'
    return new PlimsollError('store-unavailable', `The Postgres server cannot do this now: ${messageOf(error)}.`, {
      fields: { reason, code },
      cause: error,
    })
  }
  return error
}
