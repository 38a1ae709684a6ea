import { PlimsollError } from '../../core/errors.ts'
import { isHandle, type Handle } from '../../core/handles.ts'
import type { ArtifactStat, ArtifactStore, RetentionRule } from '../../ports/artifact-store.ts'
import { systemClock, type Clock } from '../../ports/clock.ts'
import { mutex } from '../../util/mutex.ts'
import { plainByteSeal, type ByteSeal, type Span } from '../crypto/byte-seal.ts'
import { plainSeal, type Seal } from '../crypto/seal.ts'
import { artifactAddress, checkQuota, clampRange, openBytes, pageOf, statOf, tenantKey } from './artifact.ts'

export interface ArtifactStoreOptions {
  /** Key of the handles and of tenants' names in the driver. With another key, existing handles cannot be opened. */
  readonly secret: Uint8Array
  /** The most bytes per tenant; exact within a process, and between processes except for writes in progress. @default no limit */
  readonly quotaBytes?: number
  /** Encryption at rest: of the bytes, and of what is known about them. @default none */
  readonly seals?: ArtifactSeals
  readonly clock?: Clock
}

export interface ArtifactSeals {
  readonly bytes: ByteSeal
  readonly text: Seal
}

export const PLAIN: ArtifactSeals = { bytes: plainByteSeal, text: plainSeal }

export interface NewArtifact {
  readonly handle: Handle
  /** The facts that the first put of these bytes decides. */
  readonly stat: ArtifactStat
  readonly sealed: () => Uint8Array
  readonly session: string | undefined
  readonly now: number
}

/** A driver's data of one tenant. Handles are well-formed, bytes are sealed. */
export interface TenantArtifacts {
  /** Marks the session before it looks for the artifact, so that a prune in between sees the mark. Gives the first put's description. */
  put(artifact: NewArtifact): Promise<ArtifactStat>
  stat(handle: Handle): Promise<ArtifactStat | undefined>
  /** The sealed bytes, or a part of them. */
  bytes(handle: Handle, span?: Span): Promise<Uint8Array | undefined>
  stats(): Promise<readonly ArtifactStat[]>
  /** Whether a session refers to an artifact. */
  marksOf(session: string): Promise<(handle: Handle) => boolean>
  /** Handles without an artifact are omitted. */
  mark(session: string, handles: readonly Handle[]): Promise<void>
  release(session: string): Promise<unknown>
  prune(rule: RetentionRule, now: number): Promise<readonly Handle[]>
  remove(handle: Handle): Promise<boolean>
}

export interface ArtifactDriver {
  readonly name: string
  /** Called once for each tenant, and again after it failed. `key` is the tenant's own. */
  open(tenant: string, key: Uint8Array): Promise<TenantArtifacts>
  /** Converts an error of the system below. @default the error itself */
  explain?(doing: string, error: unknown): unknown
  close?(): Promise<void>
}

interface Opened {
  readonly artifacts: Promise<TenantArtifacts>
  readonly inTurn: ReturnType<typeof mutex>
}

/**
 * The contract of an artifact store over a driver: handles, ranges, checks, quota and pages are the same for all. One function, since it is a
 * list of calls.
 */
export function artifactStore(driver: ArtifactDriver, options: ArtifactStoreOptions): ArtifactStore {
  const { secret, quotaBytes = Infinity, seals = PLAIN, clock = systemClock } = options
  const address = artifactAddress(secret)
  const keyOf = tenantKey(secret)
  const tenants = new Map<string, Opened>()
  let closed = false

  function opened(tenant: string): Opened {
    if (closed) throw new PlimsollError('closed', 'The artifact store is closed.')
    const known = tenants.get(tenant)
    if (known !== undefined) return known
    const own = { artifacts: driver.open(tenant, keyOf(tenant)), inTurn: mutex() }
    tenants.set(tenant, own)
    own.artifacts.catch(() => tenants.delete(tenant))
    return own
  }

  async function within<T>(
    doing: string,
    tenant: string,
    task: (artifacts: TenantArtifacts) => Promise<T>,
  ): Promise<T> {
    try {
      return await task(await opened(tenant).artifacts)
    } catch (error) {
      throw driver.explain?.(doing, error) ?? error
    }
  }

  /** Only a store with a quota needs the sum before it writes. */
  const putWithinQuota = (tenant: string, artifacts: TenantArtifacts, one: NewArtifact): Promise<ArtifactStat> =>
    opened(tenant).inTurn(async () => {
      if ((await artifacts.stat(one.handle)) === undefined) {
        const used = (await artifacts.stats()).reduce((sum, { bytes }) => sum + bytes, 0)
        checkQuota(used, one.stat.bytes, quotaBytes)
      }
      return artifacts.put(one)
    })

  return {
    name: driver.name,
    put: (tenant, given, meta = {}) =>
      within('store the artifact', tenant, (artifacts) => {
        // Copied, because the caller may change its buffer while we write, and the handle must match the bytes.
        const bytes = Uint8Array.from(given)
        const handle = address(tenant, bytes)
        const now = clock.now()
        const stat = statOf(handle, bytes, meta, now)
        const sealed = () => seals.bytes.seal(tenant, handle, bytes)
        const one = { handle, stat, sealed, session: meta.session, now }
        return quotaBytes === Infinity ? artifacts.put(one) : putWithinQuota(tenant, artifacts, one)
      }),
    read: (tenant, handle, range) =>
      within('read the artifact', tenant, async (artifacts) => {
        const stat = isHandle(handle) ? await artifacts.stat(handle) : undefined
        if (stat === undefined) return undefined
        const wanted = clampRange(range, stat.bytes)
        if (wanted.start === wanted.end && stat.bytes > 0) return new Uint8Array()
        const isWhole = wanted.start === 0 && wanted.end === stat.bytes
        const stored = await artifacts.bytes(handle, isWhole ? undefined : seals.bytes.span(wanted, stat.bytes))
        return stored && openBytes(seals.bytes, tenant, stat, stored, wanted)
      }),
    stat: (tenant, handle) =>
      within('look up the artifact', tenant, async (artifacts) =>
        isHandle(handle) ? artifacts.stat(handle) : undefined,
      ),
    list: (tenant, query = {}) =>
      within('list the artifacts', tenant, async (artifacts) => {
        const marked = query.session === undefined ? undefined : await artifacts.marksOf(query.session)
        return pageOf(await artifacts.stats(), query, marked)
      }),
    reference: (tenant, session, handles) =>
      within('mark artifacts as used', tenant, (artifacts) => artifacts.mark(session, handles.filter(isHandle))),
    release: (tenant, session) =>
      within('release the session', tenant, async (artifacts) => void (await artifacts.release(session))),
    // Two prunes at the same time would restore each other's candidates, which is safe but makes no progress.
    prune: async (tenant, rule) =>
      opened(tenant).inTurn(() => within('prune artifacts', tenant, (artifacts) => artifacts.prune(rule, clock.now()))),
    remove: (tenant, handle) =>
      within('remove the artifact', tenant, async (artifacts) => isHandle(handle) && artifacts.remove(handle)),
    async close() {
      closed = true
      tenants.clear()
      await driver.close?.()
    },
  }
}
