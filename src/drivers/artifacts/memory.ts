import { PlimsollError } from '../../core/errors.ts'
import { isHandle, type Handle } from '../../core/handles.ts'
import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import { systemClock, type Clock } from '../../ports/clock.ts'
import { artifactAddress, checkQuota, clampRange, expiredArtifacts, pageOf, sha256Of, statOf } from './artifact.ts'

export interface MemoryArtifactsOptions {
  /** Key of the handles. Keep it as long as handles shall mean something. */
  readonly secret: Uint8Array
  /** Bytes one tenant may hold. @default no limit */
  readonly quotaBytes?: number
  readonly clock?: Clock
}

interface Entry {
  readonly stat: ArtifactStat
  readonly bytes: Uint8Array
  usedAt: number
}

interface Tenant {
  readonly entries: Map<Handle, Entry>
  readonly references: Map<string, Set<Handle>>
}

const NONE: ReadonlySet<Handle> = new Set()

/** Artifacts in this process, gone with it: the reference that the other drivers are measured by. */
export function memoryArtifacts(options: MemoryArtifactsOptions): ArtifactStore {
  const { secret, quotaBytes = Infinity, clock = systemClock } = options
  const address = artifactAddress(secret)
  const tenants = new Map<string, Tenant>()
  let closed = false

  function tenantOf(name: string): Tenant {
    if (closed) throw new PlimsollError('closed', 'The artifact store is closed.')
    let tenant = tenants.get(name)
    if (tenant === undefined) tenants.set(name, (tenant = { entries: new Map(), references: new Map() }))
    return tenant
  }

  function mark(tenant: Tenant, session: string, handles: readonly Handle[]): void {
    const marks = tenant.references.get(session) ?? new Set()
    for (const handle of handles) if (tenant.entries.has(handle)) marks.add(handle)
    if (marks.size > 0) tenant.references.set(session, marks)
  }

  return {
    name: 'memory',
    async put(name, bytes, meta = {}) {
      const tenant = tenantOf(name)
      const digest = sha256Of(bytes)
      const handle = address.ofDigest(name, digest)
      const now = clock.now()
      let entry = tenant.entries.get(handle)
      if (entry === undefined) {
        checkQuota(usedBy(tenant), bytes.length, quotaBytes)
        const stat = statOf(handle, bytes, digest, meta, now)
        entry = { stat, bytes: bytes.slice(), usedAt: now }
        tenant.entries.set(handle, entry)
      }
      entry.usedAt = now
      if (meta.session !== undefined) mark(tenant, meta.session, [handle])
      return entry.stat
    },
    async read(name, handle, range) {
      const bytes = tenantOf(name).entries.get(handle)?.bytes
      if (bytes === undefined) return undefined
      const { start, end } = clampRange(range, bytes.length)
      return bytes.slice(start, end)
    },
    async stat(name, handle) {
      return tenantOf(name).entries.get(handle)?.stat
    },
    async list(name, query = {}) {
      const tenant = tenantOf(name)
      const all = [...tenant.entries.values()].map((entry) => entry.stat)
      return pageOf(all, query, (session) => tenant.references.get(session) ?? NONE)
    },
    async reference(name, session, handles) {
      mark(tenantOf(name), session, handles.filter(isHandle))
    },
    async release(name, session) {
      tenantOf(name).references.delete(session)
    },
    async prune(name, rule) {
      const tenant = tenantOf(name)
      const referenced = new Set([...tenant.references.values()].flatMap((marks) => [...marks]))
      const candidates = [...tenant.entries].map(([handle, { usedAt }]) => ({
        handle,
        usedAt,
        referenced: referenced.has(handle),
      }))
      const gone = expiredArtifacts(candidates, rule, clock.now())
      for (const handle of gone) tenant.entries.delete(handle)
      return gone
    },
    async remove(name, handle) {
      const tenant = tenantOf(name)
      for (const marks of tenant.references.values()) marks.delete(handle)
      return tenant.entries.delete(handle)
    },
    async close() {
      closed = true
      tenants.clear()
    },
  }
}

function usedBy(tenant: Tenant): number {
  let bytes = 0
  for (const entry of tenant.entries.values()) bytes += entry.bytes.length
  return bytes
}
