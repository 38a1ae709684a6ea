import { isPlimsollError } from '../../core/errors.ts'
import { answerCall, type HistoryScope } from '../../engine/readers/scope.ts'
import type { ArtifactReaders } from '../../engine/readers/artifact-readers.ts'
import type { StepOwner } from './steps.ts'
import type { HiddenCall } from '../../formats/wire/steps.ts'

export interface HiddenToolDeps {
  readonly readers: (owner: StepOwner) => Promise<ArtifactReaders>
  /** The tools that a request to this model may get. */
  readonly names: (model: string | undefined) => readonly string[]
}

/** Who asks, and what the request at hand lets it look up. */
export interface HiddenAsker {
  readonly owner: StepOwner
  readonly scope: () => Promise<HistoryScope>
}

/** Answers one call of ours. What the model did wrong is part of the answer; it never fails the client's request. */
export async function runHiddenTool(
  deps: HiddenToolDeps,
  { owner, scope }: HiddenAsker,
  call: HiddenCall,
): Promise<string> {
  try {
    const asker = { scope: await scope(), readers: await deps.readers(owner) }
    return (await answerCall(asker, call))?.text ?? `There is no tool ${call.name}.`
  } catch (error) {
    const message = isPlimsollError(error) ? error.message : 'The stored data cannot be reached at the moment.'
    return `${call.name} failed: ${message}`
  }
}
