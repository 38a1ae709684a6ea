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
  /** Bytes of all records. */
  readonly bytes: number
}

export interface SearchHit {
  readonly session: string
  readonly version: number
  readonly excerpt: string
}

/**
 * The append-only archive, one log per (tenant, session).
 *
 * Promises: `append` is atomic for its whole batch and durable when it resolves; versions of a session are strictly
 * increasing without gaps; `expectedVersion` makes it a compare-and-append that rejects with code `conflict`; records are
 * never changed or removed except by `prune` and `remove` of whole sessions; tenants never see each other.
 */
export interface SessionStore {
  readonly name: string
  /** Processes on other machines may write to it: what this one remembers of it may be out of date at any time. @default false */
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
  /** Epochs of any session of the tenant that cover one of these chain hashes: one indexed query. */
  findEpochs(tenant: string, chainHashes: readonly string[]): Promise<readonly FoundEpoch[]>
  /**
   * Compare-and-append for epochs: the first epoch on (tenant, cover) wins. Resolves with the winner, which the loser adopts:
   * when it resolves, the winner stands in the caller's log too, so that it outlives the session that declared it.
   * One that `replaces` another competes only with what came after that one.
   * An epoch that was undone in every session that holds it may be succeeded by a new one with another id.
   */
  claimEpoch(tenant: string, session: string, epoch: Epoch): Promise<FoundEpoch>
  /** First-send edits by key, from any session of the tenant. */
  findEdits(tenant: string, keys: readonly string[]): Promise<readonly FirstSendEdit[]>
  /**
   * Which of these identities the archive already holds: anywhere in the tenant, or in the log of one session. Ask for the
   * session when the session must keep its items after another one was removed.
   */
  seen(tenant: string, identities: readonly string[], options?: { session?: string }): Promise<ReadonlySet<string>>
  list(tenant: string, options?: { limit?: number; after?: string }): Promise<readonly SessionInfo[]>
  /** Full-text search over archived text. */
  search(tenant: string, query: string, options?: { session?: string; limit?: number }): Promise<readonly SearchHit[]>
  /** Copies the log up to `version` under a new name. */
  fork(tenant: string, from: string, to: string, version?: number): Promise<number>
  remove(tenant: string, session: string): Promise<boolean>
  /** Removes sessions not updated since `before`; returns their names. */
  prune(tenant: string, before: number): Promise<readonly string[]>
  /** True when the caller now holds the lease on `work`; a lease that ran out can be taken over. */
  lease(tenant: string, work: string, holder: string, ttlMs: number): Promise<boolean>
  releaseLease(tenant: string, work: string, holder: string): Promise<void>
  /** Small values beside the logs: calibration, learned windows, the store's own secret; those that name a session go with it. */
  getValue(tenant: string, key: string): Promise<string | undefined>
  /** `ifAbsent`: keeps an existing value and resolves with it; two processes that start at once agree. */
  setValue(tenant: string, key: string, value: string, ifAbsent?: boolean, options?: ValueOptions): Promise<string>
  close(): Promise<void>
}

export type Durable = 'flushed' | 'soon'

export interface WriteOptions {
  /**
   * `soon`: the promise resolves when the batch has its place and survives a kill of the process; a power cut may still take it for a
   * moment. What is written without this afterwards takes it along. A store may treat it as `flushed`. @default 'flushed'
   */
  readonly durable?: Durable
  /** When the records were written, where an import brings them from elsewhere: the session keeps its dates. @default now */
  readonly at?: number
}

export interface ValueOptions extends WriteOptions {
  /** Whose the value is: `remove` and `prune` of that session take it along. @default it outlives all sessions */
  readonly session?: string
}

export interface FoundEpoch {
  readonly session: string
  readonly epoch: Epoch
  /** Sessions in which this epoch was undone. */
  readonly undoneIn: readonly string[]
}
