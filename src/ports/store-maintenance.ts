import type { SessionStore } from './session-store.ts'

export type StoreProblemKind =
  /** A log entry cannot be read: truncated, damaged or encrypted with another key. */
  | 'unreadable'
  /** A version is missing from a log, or the log does not end at its head. */
  | 'gap'
  /** A lookup index and the log disagree. */
  | 'index'
  /** The database itself reports damage. */
  | 'file'
  /** The stored bytes of an artifact, or what is known about them, differ from what was stored. */
  | 'artifact'

export interface StoreProblem {
  readonly kind: StoreProblemKind
  readonly tenant?: string
  readonly session?: string
  readonly version?: number
  /** The artifact that is damaged. */
  readonly handle?: string
  readonly message: string
}

export interface StoreStats {
  readonly driver: string
  readonly schemaVersion: number
  readonly sealed: boolean
  readonly tenants: number
  readonly sessions: number
  readonly records: number
  /** Bytes of all log entries as stored. */
  readonly recordBytes: number
  readonly epochs: number
  /** Bytes on disk, indexes included; absent when there is no disk. */
  readonly diskBytes?: number
}

export interface MigrationReport {
  readonly from: number
  readonly to: number
  readonly applied: readonly string[]
}

/** Calls for operators. Promises: none of them changes a log entry. */
export interface StoreMaintenance {
  /** Every tenant with a session or a value, in order. */
  tenants(): Promise<readonly string[]>
  /** Reads everything once and reports damage; empty means clean. */
  check(): Promise<readonly StoreProblem[]>
  stats(): Promise<StoreStats>
  /** Upgrades the schema to this version of the package. Opening a store does the same; this one reports. */
  migrate(): Promise<MigrationReport>
}

export interface MaintainedStore extends SessionStore, StoreMaintenance {}
