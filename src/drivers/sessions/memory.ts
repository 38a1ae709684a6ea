import type { Epoch, FirstSendEdit, ItemSeen, LogRecord } from '../../core/records.ts'
import { systemClock, type Clock } from '../../ports/clock.ts'
import type { FoundEpoch, SearchHit, SearchOptions } from '../../ports/session-store.ts'
import type { MaintainedStore } from '../../ports/store-maintenance.ts'
import {
  checkedStore,
  DEFAULT_LIST_LIMIT,
  DEFAULT_SEARCH_LIMIT,
  badForkVersion,
  byName,
  conflict,
  forkTargetExists,
  noSuchSession,
} from './checked-store.ts'
import { type Query, readQuery } from '../../util/search/query.ts'
import type { AskedWord } from '../../util/search/words.ts'
import { ENOUGH_RECORDS, indexWords, PER_WORD, placesOf, rankRecords, type StoredItem } from './search-words.ts'

interface Entry {
  readonly session: string
  readonly version: number
  /** Records are kept as text, so that none can be changed through a reference. */
  readonly text: string
  /** Of an epoch. */
  readonly id: string | undefined
  /** Of an item. */
  readonly identity: string | undefined
  /** Among all entries of the store: a later one is newer. */
  readonly place: number
  /** Of an item that was searched. */
  words?: ReadonlySet<string>
}

interface Log {
  readonly createdAt: number
  updatedAt: number
  bytes: number
  readonly entries: Entry[]
}

interface Tenant {
  readonly logs: Map<string, Log>
  /** Entries by type and by what they are looked up by, in the order in which they came. */
  readonly found: Map<string, Entry[]>
  readonly leases: Map<string, { holder: string; until: number }>
  readonly values: Map<string, { readonly value: string; readonly session: string | undefined }>
}

export interface MemoryStoreOptions {
  /** @default the system's clock */
  clock?: Clock
}

/** The contract in its plainest form; everything is gone when the process ends. One function, since its calls share the map. */
export function memoryStore(options: MemoryStoreOptions = {}): MaintainedStore {
  const { clock = systemClock } = options
  const tenants = new Map<string, Tenant>()
  let place = 0

  function tenantOf(name: string): Tenant {
    const tenant = tenants.get(name) ?? { logs: new Map(), found: new Map(), leases: new Map(), values: new Map() }
    tenants.set(name, tenant)
    return tenant
  }

  /** Awaits nothing, so that nothing comes between the version and the records. */
  const append: MaintainedStore['append'] = async (
    tenantName,
    session,
    records,
    expected,
    { at = clock.now() } = {},
  ) => {
    const { logs, found } = tenantOf(tenantName)
    const log = logs.get(session) ?? { createdAt: at, updatedAt: at, bytes: 0, entries: [] }
    const actual = log.entries.length
    if (expected !== undefined && actual !== expected) throw conflict(session, expected, actual)
    if (records.length > 0) logs.set(session, log)
    for (const record of records) {
      const text = JSON.stringify(record)
      const id = record.type === 'epoch' ? record.id : undefined
      const identity = record.type === 'item-seen' ? record.identity : undefined
      const entry = { session, version: log.entries.length + 1, text, id, identity, place: ++place }
      log.entries.push(entry)
      log.bytes += Buffer.byteLength(text)
      log.updatedAt = at
      let key: string | undefined
      if (record.type === 'epoch') key = record.cover
      else if (record.type === 'undo') key = record.epoch
      else if (record.type === 'edit') ({ key } = record)
      else if (record.type === 'item-seen') key = record.identity
      if (key === undefined) continue
      const others = found.get(`${record.type} ${key}`)
      if (others === undefined) found.set(`${record.type} ${key}`, [entry])
      else others.push(entry)
    }
    return log.entries.length
  }

  return checkedStore({
    name: 'memory',
    append,

    async *read(tenantName, session, afterVersion = 0) {
      const entries = tenantOf(tenantName).logs.get(session)?.entries.slice(afterVersion) ?? []
      for (const entry of entries) yield { version: entry.version, record: recordOf(entry) }
    },

    async version(tenantName, session) {
      return tenantOf(tenantName).logs.get(session)?.entries.length ?? 0
    },

    async findEpochs(tenantName, chainHashes) {
      const tenant = tenantOf(tenantName)
      return [...new Set(chainHashes)].flatMap((hash) => {
        const entries = tenant.found.get(`epoch ${hash}`)
        return entries === undefined ? [] : firstById(entries).map((entry) => foundEpoch(tenant, entry))
      })
    },

    async claimEpoch(tenantName, session, epoch) {
      const tenant = tenantOf(tenantName)
      const all = tenant.found.get(`epoch ${epoch.cover}`) ?? []
      // Only epochs after the one that is replaced compete; a copy of that one in a later session is no newer.
      const past = new Set(all.slice(0, all.findIndex(({ id }) => id === epoch.replaces) + 1).map(({ id }) => id))
      const held = all.filter(({ id }) => !past.has(id))
      const alive = held.find((entry) => !undoneIn(tenant, entry.id).includes(entry.session))
      const winner = held.find(({ id }) => id === (alive ?? epoch).id)
      if (winner === undefined) {
        await append(tenantName, session, [epoch])
        return { session, epoch, undoneIn: [] }
      }
      const holds = held.some((entry) => entry.session === session && entry.id === winner.id)
      if (!holds) await append(tenantName, session, [recordOf(winner)])
      return foundEpoch(tenant, winner)
    },

    async findEdits(tenantName, keys) {
      const { found } = tenantOf(tenantName)
      return [...new Set(keys)].flatMap((key) => {
        const first = found.get(`edit ${key}`)?.[0]
        return first === undefined ? [] : [recordOf(first) as FirstSendEdit]
      })
    },

    async seen(tenantName, identities, { session } = {}) {
      const { found } = tenantOf(tenantName)
      return new Set(
        identities.filter((identity) =>
          found.get(`item-seen ${identity}`)?.some((entry) => session === undefined || entry.session === session),
        ),
      )
    },

    async list(tenantName, { limit = DEFAULT_LIST_LIMIT, after } = {}) {
      return [...tenantOf(tenantName).logs]
        .filter(([session]) => after === undefined || byName(session, after) > 0)
        .sort(([a], [b]) => byName(a, b))
        .slice(0, limit)
        .map(([session, { createdAt, updatedAt, bytes, entries }]) => ({
          session,
          version: entries.length,
          createdAt,
          updatedAt,
          bytes,
        }))
    },

    async search(tenantName, query, { limit = DEFAULT_SEARCH_LIMIT, ...options } = {}) {
      return searchIn(tenantOf(tenantName), readQuery(query, clock.now()), { ...options, limit })
    },

    async fork(tenantName, from, to, version) {
      const { logs } = tenantOf(tenantName)
      const source = logs.get(from)
      if (source === undefined) throw noSuchSession(from)
      if (logs.has(to)) throw forkTargetExists(to)
      const last = version ?? source.entries.length
      if (last < 1 || last > source.entries.length) throw badForkVersion(from, last, source.entries.length)
      return append(tenantName, to, source.entries.slice(0, last).map(recordOf))
    },

    async remove(tenantName, session) {
      return removeLog(tenantOf(tenantName), session)
    },

    async prune(tenantName, before) {
      const tenant = tenantOf(tenantName)
      const old = [...tenant.logs].filter(([, log]) => log.updatedAt < before).map(([session]) => session)
      for (const session of old) removeLog(tenant, session)
      return old.sort(byName)
    },

    async lease(tenantName, work, holder, ttlMs) {
      const { leases } = tenantOf(tenantName)
      const held = leases.get(work)
      const now = clock.now()
      if (held !== undefined && held.holder !== holder && held.until > now) return false
      leases.set(work, { holder, until: now + ttlMs })
      return true
    },

    async releaseLease(tenantName, work, holder) {
      const { leases } = tenantOf(tenantName)
      if (leases.get(work)?.holder === holder) leases.delete(work)
    },

    async getValue(tenantName, key) {
      return tenantOf(tenantName).values.get(key)?.value
    },

    async setValue(tenantName, key, value, ifAbsent = false, { session } = {}) {
      const { values } = tenantOf(tenantName)
      const existing = values.get(key)
      if (ifAbsent && existing !== undefined) return existing.value
      values.set(key, { value, session })
      return value
    },

    async tenants() {
      return [...tenants]
        .filter(([, { logs, values }]) => logs.size > 0 || values.size > 0)
        .map(([name]) => name)
        .sort(byName)
    },

    async check() {
      return []
    },

    async stats() {
      const all = [...tenants.values()]
      const logs = all.flatMap((tenant) => [...tenant.logs.values()])
      return {
        driver: 'memory',
        schemaVersion: 0,
        sealed: false,
        tenants: all.filter(({ logs, values }) => logs.size > 0 || values.size > 0).length,
        sessions: logs.length,
        records: logs.reduce((sum, log) => sum + log.entries.length, 0),
        recordBytes: logs.reduce((sum, log) => sum + log.bytes, 0),
        epochs: all
          .flatMap(({ found }) => [...found])
          .reduce((sum, [key, entries]) => sum + (key.startsWith('epoch ') ? firstById(entries).length : 0), 0),
      }
    },

    async migrate() {
      return { from: 0, to: 0, applied: [] }
    },

    async close() {
      tenants.clear()
    },
  })
}

const recordOf = ({ text }: Entry): LogRecord => JSON.parse(text) as LogRecord

/** The first holder of each epoch speaks for it; forks and adopters hold the same one. */
const firstById = (entries: readonly Entry[]): readonly Entry[] =>
  entries.filter(({ id }, at) => entries.findIndex((other) => other.id === id) === at)

const undoneIn = ({ found }: Tenant, epoch = ''): readonly string[] => [
  ...new Set(found.get(`undo ${epoch}`)?.map(({ session }) => session)),
]

const foundEpoch = (tenant: Tenant, entry: Entry): FoundEpoch => ({
  session: entry.session,
  epoch: recordOf(entry) as Epoch,
  undoneIn: undoneIn(tenant, entry.id).toSorted(byName),
})

function removeLog({ logs, found, values }: Tenant, session: string): boolean {
  if (!logs.delete(session)) return false
  for (const [key, entries] of found) {
    const kept = entries.filter((entry) => entry.session !== session)
    if (kept.length === 0) found.delete(key)
    else found.set(key, kept)
  }
  for (const [key, { session: owner }] of values) if (owner === session) values.delete(key)
  return true
}

/** Chooses records as every store does, by the words of all; the words of an entry are read once. */
function searchIn(
  { logs, found }: Tenant,
  asked: Query,
  { session, inContext, limit }: SearchOptions & { readonly limit: number },
): SearchHit[] {
  const said = [...found]
    .flatMap(([key, entries]) => (key.startsWith('item-seen ') ? entries : []))
    .filter((entry) => session === undefined || entry.session === session)
    .sort((a, b) => b.place - a.place)
  for (const entry of said) entry.words ??= new Set(indexWords(recordOf(entry) as ItemSeen))
  const holds = ({ words }: Entry, forms: AskedWord): boolean => forms.some((form) => words!.has(form))
  const holders = asked.words.map((forms) => ({ forms, held: said.filter((entry) => holds(entry, forms)) }))
  const counts = {
    entries: new Set(said.map(({ identity }) => identity)).size,
    holding: holders.map(({ held }) => held.length),
  }
  const present = holders.filter(({ held }) => held.length > 0).sort((a, b) => a.held.length - b.held.length)
  const chosen = new Map<Entry, StoredItem>()
  const choose = (entries: readonly Entry[]): void => {
    for (const entry of entries) if (!chosen.has(entry)) chosen.set(entry, { ...entry, record: recordOf(entry) })
  }
  const [rarest] = present
  if (present.length > 1)
    choose(rarest!.held.filter((entry) => present.every(({ forms }) => holds(entry, forms))).slice(0, PER_WORD))
  for (const { held } of present) if (chosen.size < ENOUGH_RECORDS) choose(held.slice(0, Math.max(limit, PER_WORD)))
  const places = inContext === true ? placesOf([...chosen.values()], asked, counts) : []
  for (const { session: of, first, last } of places)
    choose(logs.get(of)?.entries.slice(Math.max(0, first - 1), last) ?? [])
  return rankRecords([...chosen.values()], asked, counts, { inContext, limit })
}
