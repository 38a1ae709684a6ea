import type { Handle } from '../../core/handles.ts'
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

/** Reads everything once: the driver's own check, all logs, the lookup of each epoch, and each handle against the artifacts, if they are given. */
export async function verifyStore(
  store: MaintainedStore,
  options: { artifacts?: ArtifactStore } = {},
): Promise<VerifyReport> {
  const problems: StoreProblem[] = [...(await store.check())]
  const dangling: DanglingHandle[] = []
  let sessions = 0
  let records = 0
  for (const tenant of await store.tenants()) {
    const known = new Map<string, boolean>()
    const isThere = async (artifacts: ArtifactStore, handle: string): Promise<boolean> => {
      const there = known.get(handle) ?? (await artifacts.stat(tenant, handle)) !== undefined
      known.set(handle, there)
      return there
    }
    for await (const session of sessionsOf(store, tenant)) {
      sessions++
      for await (const { version, record } of store.read(tenant, session)) {
        records++
        if (
          record.type === 'epoch' &&
          !(await store.findEpochs(tenant, [record.cover])).some(({ epoch }) => epoch.id === record.id)
        ) {
          problems.push({
            kind: 'index',
            tenant,
            session,
            version,
            message: `Compaction ${record.id} is missing from the index by history.`,
          })
        }
        if (options.artifacts === undefined) continue
        for (const handle of handlesOfRecord(record)) {
          if (!(await isThere(options.artifacts, handle))) dangling.push({ tenant, session, version, handle })
        }
      }
    }
  }
  return { clean: problems.length === 0 && dangling.length === 0, sessions, records, problems, dangling }
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
