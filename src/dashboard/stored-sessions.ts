import { type FoldedLog, foldLog } from './session-log.ts'
import { PlimsollError } from '../core/errors.ts'
import type { LogRecord } from '../core/records.ts'
import { SYSTEM_TENANT } from '../core/handles.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { StoreMaintenance } from '../ports/store-maintenance.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import type { SessionFigures, SessionRow } from './page-types.ts'
import { figuresOf, type PriceOf } from './session-page.ts'
import { Spending } from './spending.ts'

/** Reads sessions for the page. After the first read of a log, only new entries are read. */
export interface StoredSessions {
  /** Newest first; `query`: a part of the name, in upper or lower case. */
  list(query?: string): Promise<readonly SessionRow[]>
  /** Figures and spending of a session; read-only. */
  summary(tenant: string, session: string): Promise<Summary>
  /** @throws PlimsollError `not-found` */
  log(tenant: string, session: string): Promise<{ readonly log: FoldedLog; readonly version: number }>
}

/** Logs of up to this many characters are cached, so that reloading the page does not read megabytes again. */
const KEPT_CHARACTERS = 32 * 1024 * 1024
const KEPT_SUMMARIES = 20_000
const PAGE = 500

/** What the list and the spending page need. */
interface Summary {
  readonly figures: SessionFigures
  readonly spending: Spending
}

interface KeptLog {
  readonly records: readonly LogRecord[]
  readonly version: number
}

export function storedSessions(
  store: SessionStore & Pick<StoreMaintenance, 'tenants'>,
  priceOf: PriceOf,
): StoredSessions {
  const logs = new BoundedMap<string, KeptLog>(KEPT_CHARACTERS)
  const sums = new BoundedMap<string, Summary>(KEPT_SUMMARIES)
  const keyOf = (of: string, session: string): string => JSON.stringify([of, session])

  const recordsOf = async (of: string, session: string): Promise<KeptLog> => {
    const key = keyOf(of, session)
    const known = logs.get(key)
    const now = await store.version(of, session)
    if (known !== undefined && known.version === now) return known
    // A log that is shorter than before was removed and started again.
    const from = known !== undefined && known.version < now ? known : { records: [], version: 0 }
    const records = [...from.records]
    let { version } = from
    for await (const stored of store.read(of, session, version)) {
      records.push(stored.record)
      version = stored.version
    }
    if (version === 0)
      throw new PlimsollError('not-found', `There is no session ${JSON.stringify(session.slice(0, 200))}.`, {
        advice: 'The list shows the sessions of this store.',
      })
    const kept = { records, version }
    logs.set(key, kept, charactersOf(records))
    return kept
  }

  return {
    async list(query = '') {
      const wanted = query.toLowerCase()
      const rows = await listedSessions(store, await tenantsWithSessions(store))
      return rows.filter(({ session }) => session.toLowerCase().includes(wanted))
    },
    async summary(of, session) {
      const key = keyOf(of, session)
      const known = sums.get(key)
      if (known !== undefined && known.figures.version === (await store.version(of, session))) return known
      const { records, version } = await recordsOf(of, session)
      const log = foldLog(records)
      const spending = new Spending()
      spending.add(log, of)
      const found = { figures: figuresOf(log, { tenant: of, session, version, priceOf }), spending }
      sums.set(key, found)
      return found
    },
    async log(of, session) {
      const { records, version } = await recordsOf(of, session)
      return { log: foldLog(records), version }
    },
  }
}

/** The sessions of these tenants, newest first. */
export async function listedSessions(store: SessionStore, tenants: readonly string[]): Promise<readonly SessionRow[]> {
  const rows: SessionRow[] = []
  for (const tenant of tenants) {
    let after: string | undefined
    for (;;) {
      const page = await store.list(tenant, { limit: PAGE, after })
      rows.push(...page.map((info) => ({ ...info, tenant })))
      after = page.at(-1)?.session
      if (page.length < PAGE) break
    }
  }
  return rows.sort((a, b) => b.updatedAt - a.updatedAt || a.session.localeCompare(b.session))
}

/** Tenants with a session: the store's own values have tenants without sessions. */
export async function tenantsWithSessions(
  store: SessionStore & Pick<StoreMaintenance, 'tenants'>,
): Promise<readonly string[]> {
  const found: string[] = []
  for (const tenant of await store.tenants())
    if (tenant !== SYSTEM_TENANT && (await store.list(tenant, { limit: 1 })).length > 0) found.push(tenant)
  return found
}

const charactersOf = (records: readonly LogRecord[]): number =>
  records.reduce(
    (sum, record) => sum + (record.type === 'item-seen' ? record.text.length + record.fragment.length : 400),
    0,
  )
