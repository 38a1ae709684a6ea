import { PlimsollError } from '../core/errors.ts'
import { SYSTEM_TENANT } from '../core/handles.ts'
import type { LogRecord } from '../core/records.ts'
import { callRow, figuresOf } from '../meter/session/figures.ts'
import { type FoldedLog, foldLog } from '../meter/session/log.ts'
import { Composition, type CountText } from '../meter/session/parts.ts'
import type { SessionInfo, SessionStore } from '../ports/session-store.ts'
import type { StoreMaintenance } from '../ports/store-maintenance.ts'
import { BoundedMap } from '../util/bounded-map.ts'
import type { ReplayState, SessionSummary } from './page-types.ts'
import { Spending } from './spending.ts'

/** Reads sessions for the page. After the first read of a log, only new entries are read. */
export interface StoredSessions {
  /** Newest first; `query`: a part of the name, in upper or lower case. */
  list(query?: string): Promise<readonly ListedSession[]>
  /** Figures and spending of a session; read-only. */
  summary(tenant: string, session: string): Promise<Summary>
  /** The same where it is known already and nothing was written since. */
  known(row: ListedSession): Summary | undefined
  /** @throws PlimsollError `not-found` */
  log(tenant: string, session: string): Promise<ReadLog>
}

export type ListedSession = SessionInfo & { readonly tenant: string }

export interface ReadLog {
  readonly log: FoldedLog
  readonly version: number
  /** What its prompts were made of. */
  readonly composition: () => Composition
  readonly count: CountText
}

export interface ReadOptions {
  readonly countFor: (model: string) => (text: string) => number
  /** The state of a recording that is re-run; a store of live sessions has none. */
  readonly replayOf?: (session: string) => ReplayState | undefined
}

/** Logs of up to this many characters are cached, so that reloading the page does not read megabytes again. */
const KEPT_CHARACTERS = 32 * 1024 * 1024
const KEPT_SUMMARIES = 20_000
const PAGE = 500

/** What the list and the spending page need. */
interface Summary {
  readonly figures: SessionSummary
  readonly spending: Spending
}

interface KeptLog {
  readonly records: readonly LogRecord[]
  readonly version: number
  /** Tokens of its texts by model: a log that grew is not counted again. */
  readonly counted: Map<string, Map<string, number>>
}

export function storedSessions(
  store: SessionStore & Pick<StoreMaintenance, 'tenants'>,
  { countFor, replayOf }: ReadOptions,
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
    const from = known !== undefined && known.version < now ? known : { records: [], version: 0, counted: new Map() }
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
    const kept = { records, version, counted: from.counted }
    logs.set(key, kept, charactersOf(records))
    return kept
  }

  const countIn = ({ counted }: KeptLog, model: string): ((text: string) => number) => {
    const known = counted.get(model) ?? new Map<string, number>()
    counted.set(model, known)
    const count = countFor(model)
    return (text) => {
      const size = known.get(text) ?? count(text)
      known.set(text, size)
      return size
    }
  }

  return {
    async list(query = '') {
      const wanted = query.toLowerCase()
      const rows = await listedSessions(store, await tenantsWithSessions(store))
      return rows.filter(({ session }) => session.toLowerCase().includes(wanted))
    },
    known({ tenant, session, version }) {
      const known = sums.get(keyOf(tenant, session))
      return known?.figures.version === version ? known : undefined
    },
    async summary(of, session) {
      const key = keyOf(of, session)
      const known = sums.get(key)
      const replay = replayOf?.(session)
      if (known !== undefined && known.figures.version === (await store.version(of, session)))
        return { ...known, figures: { ...known.figures, replay } }
      const { records, version } = await recordsOf(of, session)
      const log = foldLog(records)
      const spending = new Spending()
      spending.add(log, of)
      const figures = figuresOf(log, replayOf !== undefined)
      const found = { figures: { ...figures, tenant: of, session, version, replay, spark: sparkOf(log) }, spending }
      sums.set(key, found)
      return found
    },
    async log(of, session) {
      const kept = await recordsOf(of, session)
      const log = foldLog(kept.records)
      const model = log.calls.at(-1)?.model ?? 'unknown'
      const count = countIn(kept, model)
      let composition: Composition | undefined
      return {
        log,
        version: kept.version,
        count,
        composition: () => (composition ??= new Composition(log, count)),
      }
    },
  }
}

const SPARKS = 32

/** The largest prompt of each of so many stretches, as a share of its limit. */
function sparkOf({ calls }: FoldedLog): readonly number[] {
  const shares = calls.flatMap((call) => {
    const { purpose, sent, limit = 0 } = callRow(call)
    return purpose === 'turn' && limit > 0 ? [Math.round((100 * sent) / limit) / 100] : []
  })
  const count = Math.min(SPARKS, shares.length)
  return Array.from({ length: count }, (_, at) => {
    const [from, to] = [Math.floor((at * shares.length) / count), Math.floor(((at + 1) * shares.length) / count)]
    return shares.slice(from, Math.max(from + 1, to)).reduce((most, one) => Math.max(most, one), 0)
  })
}

/** The sessions of these tenants, newest first. */
export async function listedSessions(
  store: SessionStore,
  tenants: readonly string[],
): Promise<readonly ListedSession[]> {
  const rows: ListedSession[] = []
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
