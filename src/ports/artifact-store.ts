import type { Handle } from '../core/handles.ts'

/** What is known about stored bytes beside the bytes. */
export interface ArtifactMeta {
  readonly tool?: string
  readonly callId?: string
  readonly session?: string
  readonly mime?: string
  readonly encoding?: 'utf-8' | 'binary'
  readonly lines?: number
  readonly items?: number
  /** What the classifier called it. */
  readonly contentKind?: string
}

export interface ArtifactStat extends ArtifactMeta {
  readonly handle: Handle
  readonly bytes: number
  readonly sha256: string
  readonly createdAt: number
  /** For people: `<tool>_<YYYYMMDD_HHMMSS>_<6 hex>.log`. Never an address; only the handle is. */
  readonly name?: string
}

export interface ArtifactQuery {
  readonly session?: string
  readonly tool?: string
  readonly limit?: number
  /** Handle to continue after, from a previous page. */
  readonly after?: Handle
}

export interface RetentionRule {
  /** Newest artifacts kept whatever their age. */
  readonly keep?: number
  /** Nothing happens below this many artifacts. */
  readonly cleanAt?: number
  readonly maxAgeMs?: number
}

/**
 * Exact bytes of what was taken out, content-addressed per tenant.
 *
 * Promises: `put` returns only when the bytes are durable; the same bytes of one tenant give the same handle; two tenants
 * never share one and can never read each other's; a handle never becomes a path; `read` with a range does not load the
 * rest; nothing that a live session references is pruned. A `put` that names a session is a reference of that session, so
 * that no prune can come between the two; the first `put` fixes the metadata, a later one of the same bytes makes the
 * artifact young again for retention. `list` gives the newest first, and finds by session what it put or references.
 */
export interface ArtifactStore {
  readonly name: string
  put(tenant: string, bytes: Uint8Array, meta?: ArtifactMeta): Promise<ArtifactStat>
  /** Undefined when there is no such artifact of this tenant. */
  read(tenant: string, handle: Handle, range?: ByteRange): Promise<Uint8Array | undefined>
  stat(tenant: string, handle: Handle): Promise<ArtifactStat | undefined>
  list(tenant: string, query?: ArtifactQuery): Promise<readonly ArtifactStat[]>
  /** Marks handles as used by a live session; `release` drops all marks of that session. */
  reference(tenant: string, session: string, handles: readonly Handle[]): Promise<void>
  release(tenant: string, session: string): Promise<void>
  /** Deletes unreferenced artifacts beyond the rule; returns what went. */
  prune(tenant: string, rule: RetentionRule): Promise<readonly Handle[]>
  remove(tenant: string, handle: Handle): Promise<boolean>
  close(): Promise<void>
}

/** Half-open: [start, end). */
export interface ByteRange {
  readonly start: number
  readonly end?: number
}
