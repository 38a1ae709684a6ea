import { PlimsollError } from '../../core/errors.ts'
import type { Handle } from '../../core/handles.ts'
import type { ArtifactQuery, ArtifactStat } from '../../ports/artifact-store.ts'

/** One page of a tenant's artifacts, newest first. `mine` says which of them a session references. */
export function pageOf(
  all: readonly ArtifactStat[],
  query: ArtifactQuery,
  referencedBy: (session: string) => ReadonlySet<Handle>,
): ArtifactStat[] {
  const { session, tool, limit = all.length, after } = query
  const marked = session === undefined ? undefined : referencedBy(session)
  const matching = all
    .filter((stat) => tool === undefined || stat.tool === tool)
    .filter((stat) => marked === undefined || stat.session === session || marked.has(stat.handle))
    .sort((a, b) => b.createdAt - a.createdAt || (a.handle < b.handle ? -1 : 1))
  if (after === undefined) return matching.slice(0, limit)
  const position = matching.findIndex((stat) => stat.handle === after)
  if (position === -1) {
    throw new PlimsollError('not-found', `There is no artifact ${after} to continue after.`, {
      advice: 'List again from the start.',
    })
  }
  return matching.slice(position + 1, position + 1 + limit)
}
