import { isPlimsollError } from '../../../core/errors.ts'
import { answerRecall } from '../../../engine/readers/recall.ts'
import { callReader } from '../../../engine/readers/tools.ts'
import type { ArtifactReaders } from '../../../engine/readers/artifact-readers.ts'
import type { SessionStore } from '../../../ports/session-store.ts'
import type { StepOwner } from './steps.ts'
import type { HiddenCall } from '../../../formats/wire/steps.ts'

export interface HiddenToolDeps {
  readonly sessions: Pick<SessionStore, 'search' | 'read'>
  readonly readers: (owner: StepOwner) => Promise<ArtifactReaders>
  /** The tools that a session on this model gets, decided at its first request. */
  readonly names: (model: string | undefined) => readonly string[]
}

/** Answers one call of ours. What the model did wrong is part of the answer; it never fails the client's request. */
export async function runHiddenTool(
  deps: HiddenToolDeps,
  owner: StepOwner,
  { name, input }: HiddenCall,
): Promise<string> {
  try {
    if (name === 'recall') return await answerRecall(deps.sessions, owner, input)
    const answer = await callReader(await deps.readers(owner), name, input)
    return answer?.text ?? `There is no tool ${name}.`
  } catch (error) {
    const message = isPlimsollError(error) ? error.message : 'The stored data cannot be reached at the moment.'
    return `${name} failed: ${message}`
  }
}
