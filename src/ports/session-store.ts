import type { Epoch, FirstSendEdit, LogRecord } from '../core/records.ts'

export interface StoredRecord {
  /** Position in the session's log, from 1, without gaps. */
  readonly version: number
  readonly record: LogRecord
}

export interface SessionInfo {
  readonly session: string
  readonly version: number
  readonly createdAt: number
  readonly updatedAt: number
  /** Bytes of all log entries. */
  readonly bytes: number
}

export interface SearchHit {
  readonly session: string
  readonly version: number
  readonly excerpt: string
  /** Of a passage in context: where it begins in what is searched of the record, and how well it matches. */
  readonly from?: number
  readonly score?: number
}

export interface SearchOptions {
  readonly session?: string
  readonly limit?: number
  /** Passages as `recall` ranks them, each a hit: what stands beside the asked words is among them. @default records with one of the words */
  readonly inContext?: boolean
}

/**
 * The append-only archive, one log per (tenant, session).
 * Promises: `append` is atomic for its whole batch and durable when it resolves; a session's versions increase by one without gaps; with
 * `expectedVersion`, a conflicting append rejects with code `conflict`; log entries are only removed by `prune` and `remove` of whole sessions, and
 * never changed; tenants never see each other.
 */
export interface SessionStore {
  readonly name: string
  /** Processes on other machines may write to the store: anything remembered of it may be out of date. @default false */
  readonly isShared?: boolean
  /** Returns the session's new version. */
  append(
    tenant: string,
    session: string,
    records: readonly LogRecord[],
    expectedVersion?: number,
    options?: WriteOptions,
  ): Promise<number>
  read(tenant: string, session: string, afterVersion?: number): AsyncIterable<StoredRecord>
  version(tenant: string, session: string): Promise<number>
  /** Epochs that cover one of these chain hashes, from any session of the tenant: one indexed query. */
  findEpochs(tenant: string, chainHashes: readonly string[]): Promise<readonly FoundEpoch[]>
  /**
   * Compare-and-append for epochs: the first epoch on (tenant, cover) wins. Resolves with the winner, which the caller adopts; it is then in the
   * caller's log too, so that it outlives the session that declared it. An epoch that `replaces` another competes only with later ones. An epoch that
   * was undone in all sessions that have it may be followed by a new one with another id.
   */
  claimEpoch(tenant: string, session: string, epoch: Epoch): Promise<FoundEpoch>
  /** First-send edits by key, from any session of the tenant. */
  findEdits(tenant: string, keys: readonly string[]): Promise<readonly FirstSendEdit[]>
  /**
   * The identities that the archive holds already: anywhere in the tenant, or in one session's log. Ask for the session when it must keep its items
   * after other sessions are removed.
   */
  seen(tenant: string, identities: readonly string[], options?: { session?: string }): Promise<ReadonlySet<string>>
  list(tenant: string, options?: { limit?: number; after?: string }): Promise<readonly SessionInfo[]>
  /** Full-text search over archived text. */
  search(tenant: string, query: string, options?: SearchOptions): Promise<readonly SearchHit[]>
  /** Copies the log up to `version` under a new name. */
  fork(tenant: string, from: string, to: string, version?: number): Promise<number>
  remove(tenant: string, session: string): Promise<boolean>
  /** Removes sessions that were not updated since `before`; returns their names. */
  prune(tenant: string, before: number): Promise<readonly string[]>
  /** True when the caller now holds the lease on `work`. An expired lease can be taken over. */
  lease(tenant: string, work: string, holder: string, ttlMs: number): Promise<boolean>
  releaseLease(tenant: string, work: string, holder: string): Promise<void>
  /** Small values: calibration, learned windows, the store's own secret. Those that name a session are removed with it. */
  getValue(tenant: string, key: string): Promise<string | undefined>
  /** `ifAbsent`: keeps an existing value and resolves with it, so that two processes that start at once agree. */
  setValue(tenant: string, key: string, value: string, ifAbsent?: boolean, options?: ValueOptions): Promise<string>
  close(): Promise<void>
}

export type Durable = 'flushed' | 'soon'

export interface WriteOptions {
  /**
   * `soon`: resolves when the batch has its version and survives a kill of the process; a power cut in the next moment may lose it. The next write
   * without `soon` flushes it too. A store may treat it as `flushed`. @default 'flushed'
   */
  readonly durable?: Durable
  /** When the entries were written, for an import: the session keeps its dates. @default now */
  readonly at?: number
}

export interface ValueOptions extends WriteOptions {
  /** The session that the value is removed with. @default it outlives all sessions */
  readonly session?: string
}

export interface FoundEpoch {
  readonly session: string
  readonly epoch: Epoch
  /** Sessions in which this epoch was undone. */
  readonly undoneIn: readonly string[]
}
