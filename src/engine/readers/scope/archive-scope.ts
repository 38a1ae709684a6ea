import type { Handle } from '../../../core/handles.ts'
import type { LogRecord } from '../../../core/records.ts'
import { yieldNow } from '../../../util/yield-now.ts'
import type { EngineDeps } from '../../deps.ts'
import type { HistoryScope } from './history-scope.ts'
import { answerRecall, recallArchived, type ArchiveOwner, type RecallHistory } from './recall.ts'

type ScopeDeps = Pick<EngineDeps, 'sessions' | 'artifacts' | 'addressOf' | 'provenance'>

export interface ArchiveScope extends HistoryScope {
  /** Handles in the log that no entry gives to an agent: written by 0.2.0, they open under no agent's scope. */
  unattributed(): Promise<readonly Handle[]>
}

/**
 * The same for a caller who brings no request along: what the archive holds of one session, of one of its agents, or of a whole tenant. A
 * handle opens there if the session's log holds its content or names it in an entry of its own; what a message only mentions opens nothing.
 */
export function archiveScope(deps: ScopeDeps, owner: ArchiveOwner): ArchiveScope {
  const { tenant, session, agent } = owner
  const store: RecallHistory['store'] = async ({ text, toolName: tool, callId }) => {
    const about = { ...(tool !== undefined && { tool }), ...(callId !== undefined && { callId }) }
    return (await deps.artifacts.put(tenant, Buffer.from(text), about)).handle
  }
  const known = new Set<Handle>()
  const others = new Set<Handle>()
  const withoutAgent = new Set<Handle>()
  let version = 0
  const readOn = async (of: string): Promise<void> => {
    const pause = yieldNow()
    for await (const { version: at, record } of deps.sessions.read(tenant, of, version)) {
      const isOwn = agent === undefined || record.agent === agent
      const into = isOwn ? known : record.agent === undefined ? withoutAgent : others
      for (const held of handlesOf(deps, tenant, record)) into.add(held)
      version = Math.max(version, at)
      await pause()
    }
  }
  return {
    recall: (input) =>
      answerRecall((query, options) => recallArchived(deps.sessions, owner, query, options, store), input),
    async mayOpen(handle) {
      if (session === undefined || known.has(handle)) return true
      // What a session itself put away is its own; which of its agents did it, only the log says.
      if (agent === undefined && (await deps.artifacts.stat(tenant, handle))?.session === session) return true
      await readOn(session)
      return known.has(handle)
    },
    async unattributed() {
      if (session !== undefined) await readOn(session)
      return [...withoutAgent].filter((handle) => !known.has(handle) && !others.has(handle))
    },
  }
}

function handlesOf({ addressOf, provenance }: ScopeDeps, tenant: string, record: LogRecord): readonly Handle[] {
  if (record.type === 'edit') return [record.handle]
  if (record.type === 'audit') return record.handle === undefined ? [] : [record.handle]
  if (record.type === 'epoch')
    return record.edits.flatMap((edit) => (edit.op === 'replace' && edit.handle !== undefined ? [edit.handle] : []))
  if (record.type !== 'item-seen' || record.text === '') return []
  return [addressOf(tenant, Buffer.from(record.text)), ...(provenance.handlesOf(tenant, record.text) ?? [])]
}
