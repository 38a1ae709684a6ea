import type { Handle } from '../../core/handles.ts'
import type { ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import { expiredArtifacts } from './artifact.ts'
import { artifactStore, type ArtifactStoreOptions, type TenantArtifacts } from './store.ts'

export type MemoryArtifactsOptions = Omit<ArtifactStoreOptions, 'seals'>

interface Entry {
  readonly stat: ArtifactStat
  readonly bytes: Uint8Array
  usedAt: number
}

/** Artifacts in this process, gone with it: the reference that the other drivers are measured by. */
export const memoryArtifacts = ({ secret, quotaBytes, clock }: MemoryArtifactsOptions): ArtifactStore =>
  artifactStore({ name: 'memory', open: async () => tenantArtifacts() }, { secret, quotaBytes, clock })

function tenantArtifacts(): TenantArtifacts {
  const entries = new Map<Handle, Entry>()
  const references = new Map<string, Set<Handle>>()
  const mark = (session: string, handles: readonly Handle[]): void => {
    const known = handles.filter((handle) => entries.has(handle))
    if (known.length > 0) references.set(session, new Set([...(references.get(session) ?? []), ...known]))
  }
  return {
    async put({ handle, stat, sealed, session, now }) {
      const entry = entries.get(handle) ?? { stat, bytes: sealed(), usedAt: now }
      entry.usedAt = now
      entries.set(handle, entry)
      if (session !== undefined) mark(session, [handle])
      return entry.stat
    },
    stat: async (handle) => entries.get(handle)?.stat,
    bytes: async (handle, span) => entries.get(handle)?.bytes.slice(span?.start, span?.end),
    stats: async () => [...entries.values()].map(({ stat }) => stat),
    marksOf: async (session) => (handle) => references.get(session)?.has(handle) === true,
    mark: async (session, handles) => mark(session, handles),
    release: async (session) => references.delete(session),
    async prune(rule, now) {
      const referenced = new Set([...references.values()].flatMap((marks) => [...marks]))
      const candidates = [...entries].map(([handle, { usedAt }]) => ({
        handle,
        usedAt,
        referenced: referenced.has(handle),
      }))
      const gone = expiredArtifacts(candidates, rule, now)
      for (const handle of gone) entries.delete(handle)
      return gone
    },
    async remove(handle) {
      for (const marks of references.values()) marks.delete(handle)
      return entries.delete(handle)
    },
  }
}
