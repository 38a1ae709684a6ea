import { randomUUID } from 'node:crypto'
import { isPlimsollError, PlimsollError } from '../../core/errors.ts'
import { type Handle, SYSTEM_TENANT } from '../../core/handles.ts'
import type { ArtifactMeta, ArtifactStat, ArtifactStore } from '../../ports/artifact-store.ts'
import { jointKey } from '../../util/bounded-map.ts'

export interface HeldArtifacts extends ArtifactStore {
  /** Writes what could not be written before; true when nothing is left. */
  flush(): Promise<boolean>
  /** Writes and removes a small artifact of ours. @throws what the store says when it cannot be written */
  checkWritable(): Promise<void>
}

export interface HeldArtifactsOptions {
  /** What `put` would give these bytes back as. */
  readonly statOf: (tenant: string, bytes: Uint8Array, meta: ArtifactMeta) => ArtifactStat
  /** Called for each artifact that could not be written. */
  readonly onAway?: (tenant: string, meta: ArtifactMeta, cause: PlimsollError) => void
}

/** More is not held in memory: `put` fails, and what would have been cut is passed whole. */
const MOST_BYTES = 64 * 1024 * 1024
const AGAIN_MS = 1_000

interface Held {
  readonly tenant: string
  readonly bytes: Uint8Array
  readonly meta: ArtifactMeta
  readonly stat: ArtifactStat
}

/** An artifact store that keeps in memory what cannot be written now, so that a handle in a request can be opened at any time. */
export function heldArtifacts(store: ArtifactStore, { statOf, onAway }: HeldArtifactsOptions): HeldArtifacts {
  const held = new Map<string, Held>()
  let heldBytes = 0
  let timer: NodeJS.Timeout | undefined
  const keyOf = (tenant: string, handle: Handle): string => jointKey(tenant, handle)

  /** False when there is no room for it. */
  function hold(one: Held): boolean {
    const key = keyOf(one.tenant, one.stat.handle)
    if (held.has(key)) return true
    if (heldBytes + one.bytes.length > MOST_BYTES) return false
    held.set(key, one)
    heldBytes += one.bytes.length
    flushLater()
    return true
  }

  function flushLater(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      void flush().then((isEmpty) => isEmpty || flushLater())
    }, AGAIN_MS).unref()
  }

  async function flush(): Promise<boolean> {
    for (const [key, { tenant, bytes, meta }] of held) {
      try {
        await store.put(tenant, bytes, meta)
      } catch {
        // Whatever is wrong with the first is wrong with all of them.
        return false
      }
      if (held.delete(key)) heldBytes -= bytes.length
    }
    return true
  }

  /** What the store says; where it fails or has nothing, what is held. */
  async function either<T>(real: () => Promise<T | undefined>, one: Held | undefined, own: (one: Held) => T) {
    if (one === undefined) return real()
    return (await real().catch(() => undefined)) ?? own(one)
  }

  return {
    ...store,
    async put(tenant, given, meta = {}) {
      try {
        return await store.put(tenant, given, meta)
      } catch (error) {
        if (!isPlimsollError(error, 'store-unavailable')) throw error
        const bytes = Uint8Array.from(given)
        const stat = statOf(tenant, bytes, meta)
        onAway?.(tenant, meta, error)
        if (hold({ tenant, bytes, meta, stat })) return stat
        throw error
      }
    },
    read: (tenant, handle, range) =>
      either(
        () => store.read(tenant, handle, range),
        held.get(keyOf(tenant, handle)),
        ({ bytes }) => bytes.slice(range?.start, range?.end),
      ),
    stat: (tenant, handle) =>
      either(
        () => store.stat(tenant, handle),
        held.get(keyOf(tenant, handle)),
        ({ stat }) => stat,
      ),
    async remove(tenant, handle) {
      const one = held.get(keyOf(tenant, handle))
      if (one !== undefined && held.delete(keyOf(tenant, handle))) heldBytes -= one.bytes.length
      return (await store.remove(tenant, handle)) || one !== undefined
    },
    flush,
    async checkWritable() {
      const { handle } = await store.put(SYSTEM_TENANT, Buffer.from(`ready ${randomUUID()}`))
      await store.remove(SYSTEM_TENANT, handle)
      if (!(await flush())) throw new PlimsollError('store-unavailable', 'Some artifacts could not be written yet.')
    },
    async close() {
      clearTimeout(timer)
      await store.close()
    },
  }
}
