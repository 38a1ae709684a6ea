import type { Epoch, LogRecord } from '../../core/records.ts'
import { decodeRecord } from './record-text.ts'

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
