import type { LogRecord } from '../../core/records.ts'
import type { StoreProblem } from '../../ports/store-maintenance.ts'
import { keyOf } from './record-keys.ts'

/** How each kind of record is looked up: the table, and the column with its blind key. */
export const LOOKUPS = {
  epoch: { table: 'epochs', column: 'cover' },
  undo: { table: 'undos', column: 'epoch' },
  edit: { table: 'edits', column: 'key' },
  item: { table: 'items', column: 'identity' },
} as const

export type LookupIndex = keyof typeof LOOKUPS

/** The index and key under which a record must be found; undefined for those that nobody looks up. */
function lookupOf(record: LogRecord): { readonly index: LookupIndex; readonly key: string } | undefined {
  const key = keyOf(record)
  if (key === undefined) return undefined
  const { index } = key
  if (index === 'epoch') return { index, key: key.cover }
  if (index === 'undo') return { index, key: key.id }
  return { index, key: index === 'edit' ? key.key : key.identity }
}

/** A session as its head describes it. */
export interface CheckedHead {
  readonly id: number
  readonly tenant: string
  readonly name: string
  readonly version: number
  readonly bytes: number
}

/** Walks one log in the order of its versions and compares it with its head. */
export interface LogCheck {
  readonly problems: readonly StoreProblem[]
  /** The version that should come next. */
  readonly expected: number
  /** `read` throws for a record that cannot be read; `isFound` says whether the lookup has it. */
  see(
    version: number,
    bytes: number,
    read: () => LogRecord,
    isFound: (index: LookupIndex, key: string) => boolean,
  ): void
  end(): readonly StoreProblem[]
}

export function logCheck(head: CheckedHead): LogCheck {
  const problems: StoreProblem[] = []
  let expected = 1
  let bytes = 0
  const say = (kind: StoreProblem['kind'], version: number, message: string): void => {
    problems.push({ kind, tenant: head.tenant, session: head.name, version, message })
  }
  return {
    problems,
    get expected() {
      return expected
    },
    see(version, size, read, isFound) {
      if (version > expected) say('gap', expected, `Versions ${expected} to ${version - 1} are missing.`)
      expected = version + 1
      bytes += size
      try {
        const lookup = lookupOf(read())
        if (lookup === undefined || isFound(lookup.index, lookup.key)) return
        say('index', version, `The record is not in the lookup of ${LOOKUPS[lookup.index].table}.`)
      } catch (error) {
        say('unreadable', version, error instanceof Error ? error.message : String(error))
      }
    },
    end() {
      if (expected - 1 !== head.version)
        say('gap', expected, `The log ends at ${expected - 1}; its head says ${head.version}.`)
      if (bytes !== head.bytes) say('index', head.version, `The log has ${bytes} bytes; its head says ${head.bytes}.`)
      return problems
    },
  }
}

/** `read`: how a database is asked for a text. */
export const sessionHeads = (read: (column: string) => string): string =>
  `SELECT s.id, ${read('s.name')} AS name, s.version, s.bytes, ${read('t.name')} AS tenant
   FROM sessions s JOIN tenants t ON t.id = s.tenant ORDER BY s.id`
export const HOMELESS =
  'SELECT r.id FROM records r LEFT JOIN sessions s ON s.id = r.session WHERE s.id IS NULL LIMIT 100'
export const orphansIn = (table: string): string =>
  `SELECT i.record FROM ${table} i LEFT JOIN records r ON r.id = i.record AND r.session = i.session WHERE r.id IS NULL LIMIT 100`

export const orphanProblem = (table: string, record: number): StoreProblem => ({
  kind: 'index',
  message: `The lookup of ${table} points at record ${record}, which is not there.`,
})
export const homelessProblem = (record: number): StoreProblem => ({
  kind: 'index',
  message: `Record ${record} belongs to no session.`,
})
