import { messageOf } from '../../core/values.ts'
import { isPlimsollError } from '../../core/errors.ts'
import { handlesIn, type Handle } from '../../core/handles.ts'
import type { LogRecord } from '../../core/records.ts'
import type { Branch } from '../session/branch.ts'
import type { ArtifactMeta } from '../../ports/artifact-store.ts'
import type { EngineDeps } from '../deps.ts'
import type { Standing } from '../prepare/context.ts'

/** Handles in fields that Plimsoll writes. A handle in a client's text is ignored. */
export function handlesOfRecord(record: LogRecord): readonly Handle[] {
  if ('handle' in record) return handlesIn(record.handle ?? '')
  if (record.type !== 'epoch') return []
  return handlesIn(record.edits.map((edit) => ('handle' in edit ? (edit.handle ?? '') : '')).join(' '))
}

/** A clean-up costs more than keeping a few artifacts too many. */
const LEAST_WRITES = 10

/**
 * Counts an artifact write and cleans up by the policy's rule: at the first write, then whenever the number of artifacts may have passed `cleanAt`
 * again. Artifacts that a session references are never removed. A failed clean-up does not fail the tool result.
 */
async function cleanUp(deps: EngineDeps, branch: Branch): Promise<void> {
  const { retention } = deps.policy
  if (retention === undefined) return
  const every = Math.max(LEAST_WRITES, retention.cleanAt - retention.keep)
  if (branch.artifactWrites++ % every !== 0) return
  try {
    await deps.artifacts.prune(branch.tenant, retention)
  } catch (error) {
    const message = `The artifacts could not be cleaned up: ${messageOf(error)}`
    const { tenant, session, agent } = branch
    deps.emit({ type: 'warning', topic: 'artifacts', message, tenant, session, agent, at: deps.clock.now() })
  }
}

/** False when it can neither be written nor held in memory until the store is back. */
export async function putArtifact(
  deps: EngineDeps,
  branch: Branch,
  bytes: Uint8Array,
  meta: Omit<ArtifactMeta, 'session'>,
): Promise<boolean> {
  try {
    const { handle } = await deps.artifacts.put(branch.tenant, bytes, { ...meta, session: branch.session })
    branch.referenced.add(handle)
  } catch (error) {
    if (!isPlimsollError(error, 'store-unavailable')) throw error
    return false
  }
  await cleanUp(deps, branch)
  return true
}

/** References the artifacts of edits from another session, so that they outlive that session. */
export const keepAlive = (deps: EngineDeps, branch: Branch, { epoch, firstSend }: Standing): Promise<void> =>
  reference(deps, branch, [...firstSend.values(), ...(epoch === undefined ? [] : [epoch])].flatMap(handlesOfRecord))

/** Marks artifacts as used by the session, unless they are marked already. */
export async function reference(deps: EngineDeps, branch: Branch, handles: readonly Handle[]): Promise<void> {
  const { tenant, session, referenced, log } = branch
  const foreign = [...new Set(handles)].filter((handle) => !referenced.has(handle) && !log.editHandles.has(handle))
  if (foreign.length === 0) return
  await deps.artifacts.reference(tenant, session, foreign)
  for (const handle of foreign) referenced.add(handle)
}
