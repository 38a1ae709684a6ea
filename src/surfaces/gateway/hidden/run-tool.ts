import { isPlimsollError } from '../../../core/errors.ts'
import { callReader } from '../../../engine/readers/tools.ts'
import type { ArtifactReaders } from '../../../engine/readers/index.ts'
import type { SessionStore } from '../../../ports/session-store.ts'
import type { StepOwner } from './steps.ts'
import type { HiddenCall } from './wire.ts'
import { isRecord } from './wire.ts'

export interface HiddenToolDeps {
  readonly sessions: Pick<SessionStore, 'search'>
  readonly readers: (tenant: string) => Promise<ArtifactReaders>
}

const MAX_HITS = 20

/** Answers one call of ours. What the model did wrong is part of the answer; it never fails the client's request. */
export async function runHiddenTool(
  deps: HiddenToolDeps,
  owner: StepOwner,
  { name, input }: HiddenCall,
): Promise<string> {
  try {
    if (name === 'recall') return await recall(deps, owner, input)
    const answer = await callReader(await deps.readers(owner.tenant), name, input)
    return answer?.text ?? `There is no tool ${name}.`
  } catch (error) {
    const message = isPlimsollError(error) ? error.message : 'The stored data cannot be reached at the moment.'
    return `${name} failed: ${message}`
  }
}

async function recall(deps: HiddenToolDeps, { tenant, session }: StepOwner, input: unknown): Promise<string> {
  const { query, limit } = isRecord(input) ? input : {}
  if (typeof query !== 'string' || query.trim() === '') return 'recall needs a query: the words to look for.'
  const wanted = typeof limit === 'number' && limit >= 1 ? Math.min(Math.floor(limit), MAX_HITS) : 8
  const hits = await deps.sessions.search(tenant, query, { session, limit: wanted })
  if (hits.length === 0) return `Nothing in this conversation mentions ${JSON.stringify(query)}.`
  return hits.map((hit, i) => `${i + 1}. ${hit.excerpt}`).join('\n')
}
