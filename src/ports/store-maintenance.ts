import type { SessionStore } from './session-store.ts'

export type StoreProblemKind =
  /** The record's text cannot be read back: torn, flipped or sealed with another key. */
  | 'unreadable'
  /** A version is missing from a log, or the log ends elsewhere than its head says. */
  | 'gap'
  /** A lookup index and the log disagree. */
  | 'index'
  /** The database itself reports damage. */
  | 'file'

export interface StoreProblem {
  readonly kind: StoreProblemKind
  readonly tenant?: string
  readonly session?: string
  readonly version?: number
  readonly message: string
}

export interface StoreStats {
  readonly driver: string
  readonly schemaVersion: number
  readonly sealed: boolean
  readonly tenants: number
  readonly sessions: number
  readonly records: number
  /** Bytes of all records as stored. */
  readonly recordBytes: number
  readonly epochs: number
  /** Bytes the store takes on its disk, indexes included; absent where there is no disk. */
  readonly diskBytes?: number
}

export interface MigrationReport {
  readonly from: number
  readonly to: number
  readonly applied: readonly string[]
}

/** What an operator needs beside the engine's calls. Promises: none of these changes a record. */
export interface StoreMaintenance {
  /** Every tenant with a session or a value, in order. */
  tenants(): Promise<readonly string[]>
  /** Reads everything once and reports damage; empty means clean. */
  check(): Promise<readonly StoreProblem[]>
  stats(): Promise<StoreStats>
  /** Brings the schema to this version of the package. Opening a store does the same; this one reports. */
  migrate(): Promise<MigrationReport>
}

export interface MaintainedStore extends SessionStore, StoreMaintenance {}
