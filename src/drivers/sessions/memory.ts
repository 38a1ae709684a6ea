import type { Epoch, FirstSendEdit, LogRecord } from '../../core/records.ts'
import { systemClock, type Clock } from '../../ports/clock.ts'
import type { FoundEpoch } from '../../ports/session-store.ts'
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
import { decodeRecord, encodeRecord } from './records.ts'
import { queryWords, wordsOf } from '../../core/search-words.ts'
import { rankCandidates } from './search-words.ts'

export interface Entry {
  /** Order of arrival in the tenant: who was first. */
  readonly order: number
  readonly session: string
  readonly version: number
  /** Records are kept as text, so that nobody can change one through a reference. */
  readonly text: string
}

export interface Log {
  readonly createdAt: number
  updatedAt: number
  bytes: number
  readonly entries: Entry[]
}

export interface Tenant {
  readonly logs: Map<string, Log>
  readonly epochs: Map<string, Entry[]>
  readonly undos: Map<string, Set<string>>
  readonly edits: Map<string, Entry[]>
  readonly identities: Map<string, Set<string>>
  readonly leases: Map<string, { holder: string; until: number }>
  readonly values: Map<string, { readonly value: string; readonly session: string | undefined }>
}

export function idOf(entry: Entry): string {
  const known = ids.get(entry)
  if (known !== undefined) return known
  const { id } = decodeRecord(entry.text) as Epoch
  ids.set(entry, id)
  return id
}

/** An epoch names every item that it covers: its record is too long to be read for its id each time. */
const ids = new WeakMap<Entry, string>()

/** The first holder of each epoch speaks for it; forks and adopters hold the same one. */
export function firstById(entries: readonly Entry[]): Entry[] {
  const first = new Map<string, Entry>()
  for (const entry of entries) if (!first.has(idOf(entry))) first.set(idOf(entry), entry)
  return [...first.values()]
}

/** `record` is what the entry's text says. */
export function addToIndexes(tenant: Tenant, entry: Entry, record: LogRecord): void {
  if (record.type === 'epoch') push(tenant.epochs, record.cover, entry)
  else if (record.type === 'edit') push(tenant.edits, record.key, entry)
  else if (record.type === 'undo') addMember(tenant.undos, record.epoch, entry.session)
  else if (record.type === 'item-seen') addMember(tenant.identities, record.identity, entry.session)
}

function push(index: Map<string, Entry[]>, key: string, entry: Entry): void {
  const entries = index.get(key)
  if (entries === undefined) index.set(key, [entry])
  else entries.push(entry)
}

function addMember(index: Map<string, Set<string>>, key: string, member: string): void {
  const members = index.get(key)
  if (members === undefined) index.set(key, new Set([member]))
  else members.add(member)
}

function dropEntries(index: Map<string, Entry[]>, session: string): void {
  for (const [key, entries] of index) {
    const kept = entries.filter((entry) => entry.session !== session)
    if (kept.length === 0) index.delete(key)
    else if (kept.length < entries.length) index.set(key, kept)
  }
}

function dropMembers(index: Map<string, Set<string>>, session: string): void {
  for (const [key, members] of index) if (members.delete(session) && members.size === 0) index.delete(key)
}

/** Takes a session out of every index; what other sessions hold stays. */
export function dropFromIndexes(tenant: Tenant, session: string): void {
  for (const index of [tenant.epochs, tenant.edits]) dropEntries(index, session)
  for (const index of [tenant.undos, tenant.identities]) dropMembers(index, session)
}

export const newTenant = (): Tenant => ({
  logs: new Map(),
  epochs: new Map(),
  undos: new Map(),
  edits: new Map(),
  identities: new Map(),
  leases: new Map(),
  values: new Map(),
})

export interface MemoryStoreOptions {
  /** @default the system's clock */
  clock?: Clock
}

/** The contract in its plainest form; everything is gone when the process ends. */
export function memoryStore(options: MemoryStoreOptions = {}): MaintainedStore {
  const { clock = systemClock } = options
  const tenants = new Map<string, Tenant>()
  let order = 0

  function tenantOf(name: string): Tenant {
    let tenant = tenants.get(name)
    if (tenant === undefined) {
      tenant = newTenant()
      tenants.set(name, tenant)
    }
    return tenant
  }

  function write(tenant: Tenant, session: string, written: readonly Written[], now = clock.now()): number {
    const log = tenant.logs.get(session) ?? { createdAt: now, updatedAt: now, bytes: 0, entries: [] }
    if (written.length > 0) tenant.logs.set(session, log)
    for (const { text, record } of written) {
      const entry = { order: ++order, session, version: log.entries.length + 1, text }
      log.entries.push(entry)
      log.bytes += Buffer.byteLength(text)
      log.updatedAt = now
      addToIndexes(tenant, entry, record)
    }
    return log.entries.length
  }

  return checkedStore({
    name: 'memory',

    async append(tenantName, session, records, expectedVersion, { at } = {}) {
      const tenant = tenantOf(tenantName)
      const written = records.map((record) => ({ record, text: encodeRecord(record) }))
      const actual = tenant.logs.get(session)?.entries.length ?? 0
      if (expectedVersion !== undefined && actual !== expectedVersion) throw conflict(session, expectedVersion, actual)
      return write(tenant, session, written, at)
    },

    async *read(tenantName, session, afterVersion = 0) {
      const entries = tenantOf(tenantName).logs.get(session)?.entries.slice(afterVersion) ?? []
      for (const { version, text } of entries) yield { version, record: decodeRecord(text) }
    },

    async version(tenantName, session) {
      return tenantOf(tenantName).logs.get(session)?.entries.length ?? 0
    },

    async findEpochs(tenantName, chainHashes) {
      const tenant = tenantOf(tenantName)
      return [...new Set(chainHashes)].flatMap((hash) =>
        firstById(tenant.epochs.get(hash) ?? []).map((entry) => find(tenant, entry)),
      )
    },

    async claimEpoch(tenantName, session, epoch) {
      const tenant = tenantOf(tenantName)
      const all = tenant.epochs.get(epoch.cover) ?? []
      // Up to the one that is gone beyond; a copy of it in a later session is no newer.
      const past = new Set(all.slice(0, all.findIndex((entry) => idOf(entry) === epoch.replaces) + 1).map(idOf))
      const held = all.filter((entry) => !past.has(idOf(entry)))
      const same = held.find((entry) => idOf(entry) === epoch.id)
      const alive = held.find((entry) => tenant.undos.get(idOf(entry))?.has(entry.session) !== true)
      const winner = alive === undefined ? same : held.find((entry) => idOf(entry) === idOf(alive))
      if (winner === undefined) {
        write(tenant, session, [{ record: epoch, text: JSON.stringify(epoch) }])
        return { session, epoch, undoneIn: [] }
      }
      const holds = held.some((entry) => entry.session === session && idOf(entry) === idOf(winner))
      if (!holds) write(tenant, session, [readBack(winner)])
      return find(tenant, winner)
    },

    async findEdits(tenantName, keys) {
      const tenant = tenantOf(tenantName)
      return [...new Set(keys)].flatMap((key) => {
        const first = tenant.edits.get(key)?.[0]
        return first === undefined ? [] : [decodeRecord(first.text) as FirstSendEdit]
      })
    },

    async seen(tenantName, identities, { session } = {}) {
      const tenant = tenantOf(tenantName)
      return new Set(
        identities.filter((identity) => {
          const holders = tenant.identities.get(identity)
          return session === undefined ? holders !== undefined : holders?.has(session) === true
        }),
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

    async search(tenantName, query, { session, limit = DEFAULT_SEARCH_LIMIT } = {}) {
      const words = queryWords(query)
      const logs = [...tenantOf(tenantName).logs].filter(([name]) => session === undefined || name === session)
      const candidates = logs.flatMap(([name, { entries }]) =>
        entries.flatMap(({ version, text }) => {
          const record = decodeRecord(text)
          if (record.type !== 'item-seen') return []
          const held = new Set(wordsOf(record.text))
          if (!words.some((word) => held.has(word))) return []
          return [{ session: name, version, at: record.at, text: record.text }]
        }),
      )
      return rankCandidates(candidates, words, limit)
    },

    async fork(tenantName, from, to, version) {
      const tenant = tenantOf(tenantName)
      const source = tenant.logs.get(from)
      if (source === undefined) throw noSuchSession(from)
      if (tenant.logs.has(to)) throw forkTargetExists(to)
      const last = version ?? source.entries.length
      if (last < 1 || last > source.entries.length) throw badForkVersion(from, last, source.entries.length)
      return write(tenant, to, source.entries.slice(0, last).map(readBack))
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
        epochs: all.reduce(
          (sum, tenant) => sum + [...tenant.epochs.values()].reduce((n, entries) => n + firstById(entries).length, 0),
          0,
        ),
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

/** A record with its text. */
interface Written {
  readonly record: LogRecord
  readonly text: string
}

const readBack = ({ text }: Entry): Written => ({ text, record: decodeRecord(text) })

function removeLog(tenant: Tenant, session: string): boolean {
  if (!tenant.logs.delete(session)) return false
  dropFromIndexes(tenant, session)
  for (const [key, { session: owner }] of tenant.values) if (owner === session) tenant.values.delete(key)
  return true
}

function find(tenant: Tenant, entry: Entry): FoundEpoch {
  const epoch = decodeRecord(entry.text) as Epoch
  return { session: entry.session, epoch, undoneIn: [...(tenant.undos.get(epoch.id) ?? [])].sort(byName) }
}
