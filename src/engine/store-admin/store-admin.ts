import { isPlimsollError } from '../../core/errors.ts'
import type { Handle } from '../../core/handles.ts'
import type { Epoch } from '../../core/records.ts'
import type { ArtifactStore, RetentionRule } from '../../ports/artifact-store.ts'
import type { SessionStore } from '../../ports/session-store.ts'
import type { MaintainedStore, MigrationReport, StoreProblem, StoreStats } from '../../ports/store-maintenance.ts'
import { handlesOfRecord } from './retention.ts'
import { sessionsOf } from './store-export.ts'

export { exportStore } from './store-export.ts'
export { importStore } from './store-export.ts'

export interface VerifyReport {
  readonly clean: boolean
  readonly sessions: number
  readonly records: number
  readonly problems: readonly StoreProblem[]
  /** Handles in log entries for which the artifact store has no artifact. */
  readonly dangling: readonly DanglingHandle[]
}

export interface DanglingHandle {
  readonly tenant: string
  readonly session: string
  readonly version: number
  readonly handle: string
}

/**
 * Reads everything once: the driver's own check, all logs, the lookup of each epoch, and, where the artifacts are given, the bytes of each of them.
 * What is damaged is named, and everything else is read all the same.
 */
export async function verifyStore(
  store: MaintainedStore,
  options: { artifacts?: ArtifactStore } = {},
): Promise<VerifyReport> {
  const problems: StoreProblem[] = [...(await store.check())]
  const dangling: DanglingHandle[] = []
  const counts = { sessions: 0, records: 0 }
  const named = new Set(problems.map(({ session }) => session))
  const damaged = (error: unknown, where: Pick<StoreProblem, 'tenant' | 'session'>): void => {
    if (!isDamage(error)) throw error
    if (!named.has(where.session)) problems.push({ kind: 'file', ...where, message: (error as Error).message })
  }
  try {
    for (const tenant of await store.tenants()) {
      const names: { session: string; version: number; handle: Handle }[] = []
      for await (const session of sessionsOf(store, tenant)) {
        counts.sessions++
        try {
          for await (const { version, record } of store.read(tenant, session)) {
            counts.records++
            if (record.type === 'epoch' && !(await isIndexed(store, tenant, record))) {
              const message = `Compaction ${record.id} is missing from the index by history.`
              problems.push({ kind: 'index', tenant, session, version, message })
            }
            names.push(...handlesOfRecord(record).map((handle) => ({ session, version, handle })))
          }
        } catch (error) {
          damaged(error, { tenant, session })
        }
      }
      if (options.artifacts === undefined) continue
      const there = await readArtifacts(options.artifacts, tenant, new Set(names.map(({ handle }) => handle)), problems)
      for (const name of names) if (!there.has(name.handle)) dangling.push({ tenant, ...name })
    }
  } catch (error) {
    damaged(error, {})
  }
  return { clean: problems.length === 0 && dangling.length === 0, ...counts, problems, dangling }
}

const isDamage = (error: unknown): boolean =>
  isPlimsollError(error, 'store-unavailable') && error.fields['reason'] === 'corrupt'

const isIndexed = async (store: SessionStore, tenant: string, { cover, id }: Epoch): Promise<boolean> =>
  (await store.findEpochs(tenant, [cover])).some(({ epoch }) => epoch.id === id)

/** Those of a tenant's artifacts, and of the handles in its logs, that are there. Their bytes are read and compared with what they were. */
async function readArtifacts(
  artifacts: ArtifactStore,
  tenant: string,
  handles: ReadonlySet<Handle>,
  problems: StoreProblem[],
): Promise<ReadonlySet<Handle>> {
  const stats = await artifacts.list(tenant, { limit: Number.MAX_SAFE_INTEGER })
  const there = new Set<Handle>()
  for (const handle of new Set([...handles, ...stats.map((stat) => stat.handle)])) {
    try {
      if ((await artifacts.read(tenant, handle)) !== undefined) there.add(handle)
    } catch (error) {
      if (!isPlimsollError(error, 'corrupt')) throw error
      there.add(handle)
      problems.push({ kind: 'artifact', tenant, handle, message: error.message })
    }
  }
  return there
}

async function handlesOf(store: SessionStore, tenant: string, session: string): Promise<readonly Handle[]> {
  const handles = new Set<Handle>()
  for await (const { record } of store.read(tenant, session))
    for (const handle of handlesOfRecord(record)) handles.add(handle)
  return [...handles]
}

/** Forks a session and its references to artifacts. */
export async function forkSession(
  store: SessionStore,
  artifacts: ArtifactStore,
  place: { readonly tenant: string; readonly from: string; readonly to: string; readonly version?: number },
): Promise<number> {
  const { tenant, from, to } = place
  // References first, so that nothing is pruned between the two calls.
  await artifacts.reference(tenant, to, await handlesOf(store, tenant, from))
  return store.fork(tenant, from, to, place.version)
}

export interface PruneOptions {
  /** Sessions that were not updated since this time are removed. */
  before: number
  /** @default every tenant */
  tenant?: string
  /** References of removed sessions are released; then unreferenced artifacts are removed by `rule`. */
  artifacts?: ArtifactStore
  rule?: RetentionRule
}

export interface PruneReport {
  readonly sessions: readonly { readonly tenant: string; readonly session: string }[]
  readonly artifacts: readonly string[]
}

export async function pruneStore(store: MaintainedStore, options: PruneOptions): Promise<PruneReport> {
  const { before, artifacts, rule } = options
  const sessions: { tenant: string; session: string }[] = []
  const gone: string[] = []
  for (const tenant of options.tenant === undefined ? await store.tenants() : [options.tenant]) {
    for (const session of await store.prune(tenant, before)) {
      sessions.push({ tenant, session })
      await artifacts?.release(tenant, session)
    }
    if (artifacts === undefined || rule === undefined) continue
    // References are restored from the logs first: one may have been lost when a process was killed.
    for await (const session of sessionsOf(store, tenant)) {
      await artifacts.reference(tenant, session, await handlesOf(store, tenant, session))
    }
    gone.push(...(await artifacts.prune(tenant, rule)))
  }
  return { sessions, artifacts: gone }
}

export const storeStats = (store: MaintainedStore): Promise<StoreStats> => store.stats()
export const migrateStore = (store: MaintainedStore): Promise<MigrationReport> => store.migrate()
