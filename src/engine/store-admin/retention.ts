import { handlesIn, type Handle } from '../../core/handles.ts'
import type { LogRecord } from '../../core/records.ts'
import type { Branch } from '../session/branch.ts'
import type { ArtifactMeta } from '../../ports/artifact-store.ts'
import type { EngineDeps } from '../deps.ts'
import type { Standing } from '../prepare/context.ts'

/** Handles in the fields that are ours to fill: one in a client's text is no promise of this store. */
export function handlesOfRecord(record: LogRecord): readonly Handle[] {
  if ('handle' in record) return handlesIn(record.handle ?? '')
  if (record.type !== 'epoch') return []
  return handlesIn(record.edits.map((edit) => ('handle' in edit ? (edit.handle ?? '') : '')).join(' '))
}

/** Looking through a store costs more than a few artifacts too many. */
const LEAST_WRITES = 10

/**
 * Counts a write of the branch and cleans up by the policy's rule: at its first write, and then whenever so many came that the line
 * may have been passed again. The store never gives up what a session references. Cleaning fails no result.
 */
async function cleanUp(deps: EngineDeps, branch: Branch): Promise<void> {
  const { retention } = deps.policy
  if (retention === undefined) return
  const every = Math.max(LEAST_WRITES, retention.cleanAt - retention.keep)
  if (branch.artifactWrites++ % every !== 0) return
  try {
    await deps.artifacts.prune(branch.tenant, retention)
  } catch (error) {
    const message = `The artifacts could not be cleaned up: ${error instanceof Error ? error.message : String(error)}`
    const { tenant, session, agent } = branch
    deps.emit({ type: 'warning', topic: 'artifacts', message, tenant, session, agent, at: deps.clock.now() })
  }
}

/** Stores bytes as this session's. */
export async function putArtifact(
  deps: EngineDeps,
  branch: Branch,
  bytes: Uint8Array,
  meta: Omit<ArtifactMeta, 'session'>,
): Promise<void> {
  const { handle } = await deps.artifacts.put(branch.tenant, bytes, { ...meta, session: branch.session })
  branch.referenced.add(handle)
  await cleanUp(deps, branch)
}

/** A view that another session's edits made names artifacts of that session: this one keeps them alive as well. */
export const keepAlive = (deps: EngineDeps, branch: Branch, { epoch, firstSend }: Standing): Promise<void> =>
  reference(deps, branch, [...firstSend.values(), ...(epoch === undefined ? [] : [epoch])].flatMap(handlesOfRecord))

/** Marks artifacts as used by the session, those that are not marked yet. */
export async function reference(deps: EngineDeps, branch: Branch, handles: readonly Handle[]): Promise<void> {
  const { tenant, session, referenced, log } = branch
  const foreign = [...new Set(handles)].filter((handle) => !referenced.has(handle) && !log.editHandles.has(handle))
  if (foreign.length === 0) return
  await deps.artifacts.reference(tenant, session, foreign)
  for (const handle of foreign) referenced.add(handle)
}
