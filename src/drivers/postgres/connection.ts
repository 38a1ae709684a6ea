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
  /** How long a call tries before it fails; once one failed, the others fail at once until the server answers again. @default 6_000 */
  retryForMs?: number
  /** A schema of its own for every table of ours. @default 'plimsoll' */
  schema?: string
}

export type Row = Readonly<Record<string, unknown>>

/** Runs statements that are prepared once per connection; the text is the name. */
export interface Queries {
  query(text: string, values?: readonly unknown[]): Promise<readonly Row[]>
}

export interface TransactionOptions {
  /** A broken connection is not tried again. */
  readonly once?: boolean
  /** Nobody's request waits for it: it may take its time. */
  readonly patient?: boolean
}

export type Postgres = ReturnType<typeof connectPostgres>

const FIRST_WAIT_MS = 20
const LONGEST_WAIT_MS = 1000

/** A call that took this long asks how fast the server is. */
const SLOW_CALL_MS = 1_000
/** Where the shortest question takes longer, a request of an agent, which asks some thirty, would wait too long. */
const SLOW_ANSWER_MS = 250
/** A server that is away is asked again after this time. */
const AGAIN_MS = 1_000
const GOODBYE_MS = 2_000

/** Until when each server counts as away: its session store and its artifacts share what was found out. */
const awayUntil = new Map<string, number>()

/**
 * A pool that survives its server: connects on first use, waits with growing pauses while the server is away, and says
 * `store-unavailable` after `retryForMs`. From then on a call fails at once, or, once a second, as soon as `SELECT 1` takes too long: an agent
 * waits once, not with each of its calls.
 */
export function connectPostgres(options: PostgresOptions) {
  const { url, poolSize = 10, retryForMs = 6_000, schema = 'plimsoll' } = options
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new PlimsollError(
      'bad-config',
      `A schema's name has lower-case letters, digits and underscores; ${JSON.stringify(schema)} has others.`,
    )
  }
  let pool: Promise<Pool> | undefined
  let closed = false

  /** Runs `job` on a connection, and again on a new one when the connection broke and `job` may run twice. */
  async function withClient<T>(
    job: (client: PoolClient) => Promise<T>,
    repeatable: boolean,
    { patient = false }: Pick<TransactionOptions, 'patient'> = {},
  ): Promise<T> {
    const startedAt = performance.now()
    const deadline = startedAt + retryForMs
    const wasAway = awayUntil.get(url)
    if (wasAway !== undefined && startedAt < wasAway) throw explain(timedOut('it did not answer in time'), false)
    // Others fail meanwhile.
    if (wasAway !== undefined) awayUntil.set(url, startedAt + AGAIN_MS)
    const leave = (): void => void awayUntil.set(url, performance.now() + Math.min(AGAIN_MS, retryForMs))
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      if (closed) throw new PlimsollError('closed', 'The store is closed.')
      let connection: PoolClient | undefined
      try {
        pool ??= openPool(url, poolSize, schema)
        const opening = (await pool).connect()
        connection = await before(wasAway === undefined ? deadline : startedAt + AGAIN_MS, opening, (late) =>
          late.release(),
        )
        if (wasAway !== undefined && (await isSlow(connection))) throw timedOut('it is too slow')
        awayUntil.delete(url)
        const result = await (patient ? job(connection) : before(deadline, job(connection)))
        if (!patient && performance.now() - startedAt > SLOW_CALL_MS && (await isSlow(connection))) leave()
        connection.release()
        return result
      } catch (error) {
        // A connection that broke, or that may still be inside a transaction, must not go back into the pool.
        connection?.release(isBroken(error) ? true : undefined)
        const isSent = connection !== undefined
        const again = isSent ? isTransient(error) || (repeatable && isBroken(error)) : isUnreachable(error)
        if (!again || wasAway !== undefined || performance.now() + wait > deadline) {
          if (isBroken(error)) leave()
          throw explain(error, isSent)
        }
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
    transaction: <T>(
      job: (queries: Queries) => Promise<T>,
      { once = false, patient }: TransactionOptions = {},
    ): Promise<T> =>
      withClient(
        async (connection) => {
          await connection.query('BEGIN')
          try {
            const result = await job({ query: (text, values = []) => run(connection, text, values) })
            await connection.query('COMMIT')
            return result
          } catch (error) {
            if (!isBroken(error)) await connection.query('ROLLBACK')
            throw error
          }
        },
        !once,
        { patient },
      ),
    async close(): Promise<void> {
      closed = true
      const open = await pool?.catch(() => undefined)
      pool = undefined
      // A server that does not answer must not keep the process.
      if (open !== undefined) await before(performance.now() + GOODBYE_MS, open.end()).catch(() => undefined)
    },
  }
}

const timedOut = (what: string): Error => Object.assign(new Error(what), { code: 'ETIMEDOUT' })

/** Rejects at a moment of the monotonic clock; what comes later is handed to `late`. */
function before<T>(deadline: number, work: Promise<T>, late?: (result: T) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let isLate = false
    const timer = setTimeout(
      () => {
        isLate = true
        reject(timedOut('it does not answer'))
      },
      Math.max(0, deadline - performance.now()),
    )
    work.then((result) => (isLate ? late?.(result) : resolve(result)), reject).finally(() => clearTimeout(timer))
  })
}

/** Whether the shortest question takes too long twice: once may be a pause of this process. */
async function isSlow(client: PoolClient): Promise<boolean> {
  for (let i = 0; i < 2; i++) {
    const askedAt = performance.now()
    await before(askedAt + SLOW_CALL_MS, client.query('SELECT 1'))
    if (performance.now() - askedAt <= SLOW_ANSWER_MS) return false
  }
  return true
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
