import type { Handle } from '../core/handles.ts'

export interface ArtifactMeta {
  readonly tool?: string
  readonly callId?: string
  readonly session?: string
  readonly mime?: string
  readonly encoding?: 'utf-8' | 'binary'
  readonly lines?: number
  readonly items?: number
  /** Where it is written as a file as well, for agents that have only a shell. A name from outside is never part of it as it came. */
  readonly file?: string
  /** The classifier's name for it. */
  readonly contentKind?: string
}

export interface ArtifactStat extends ArtifactMeta {
  readonly handle: Handle
  readonly bytes: number
  readonly sha256: string
  readonly createdAt: number
  /** A display name: `<tool>_<YYYYMMDD_HHMMSS>_<6 hex>.log`. Never an address; only the handle is. */
  readonly name?: string
}

export interface ArtifactQuery {
  readonly session?: string
  readonly tool?: string
  readonly limit?: number
  /** The last handle of the previous page. */
  readonly after?: Handle
}

export interface RetentionRule {
  /** Newest artifacts that are kept regardless of age. */
  readonly keep?: number
  /** Nothing is deleted below this many artifacts. */
  readonly cleanAt?: number
  readonly maxAgeMs?: number
}

/**
 * Exact bytes of what was taken out, content-addressed per tenant.
 * Promises: `put` resolves when the bytes are durable; the same bytes of one tenant get the same handle; tenants never share handles and cannot read
 * each other's artifacts; a handle is never used as a path; `read` with a range does not load the rest; nothing that a live session references is
 * pruned. A `put` that names a session also references it, so that no prune can come in between; the first `put` fixes the metadata, a later one of
 * the same bytes renews the age. `list` is newest first, and finds by session what it put or references.
 */
export interface ArtifactStore {
  readonly name: string
  put(tenant: string, bytes: Uint8Array, meta?: ArtifactMeta): Promise<ArtifactStat>
  /** Undefined when this tenant has no such artifact. */
  read(tenant: string, handle: Handle, range?: ByteRange): Promise<Uint8Array | undefined>
  stat(tenant: string, handle: Handle): Promise<ArtifactStat | undefined>
  list(tenant: string, query?: ArtifactQuery): Promise<readonly ArtifactStat[]>
  /** Marks handles as used by a live session; `release` drops all marks of that session. */
  reference(tenant: string, session: string, handles: readonly Handle[]): Promise<void>
  release(tenant: string, session: string): Promise<void>
  /** Deletes unreferenced artifacts beyond the rule; returns their handles. */
  prune(tenant: string, rule: RetentionRule): Promise<readonly Handle[]>
  remove(tenant: string, handle: Handle): Promise<boolean>
  close(): Promise<void>
}

/** Half-open: [start, end). */
export interface ByteRange {
  readonly start: number
  readonly end?: number
}
