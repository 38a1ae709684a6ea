import { isPlimsollError } from '../../../core/errors.ts'
import type { HistoryScope } from '../../../engine/readers/history-scope.ts'
import { callReader } from '../../../engine/readers/tools.ts'
import type { ArtifactReaders } from '../../../engine/readers/artifact-readers.ts'
import type { StepOwner } from './steps.ts'
import type { HiddenCall } from '../../../formats/wire/steps.ts'
import { compactCall } from '../../../engine/readers/reader-tools.ts'

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
  const { name, input } = compactCall(call)
  try {
    const { recall, mayOpen } = await scope()
    if (name === 'recall') return await recall(input)
    const answer = await callReader((await deps.readers(owner)).within(mayOpen), name, input)
    return answer?.text ?? `There is no tool ${name}.`
  } catch (error) {
    const message = isPlimsollError(error) ? error.message : 'The stored data cannot be reached at the moment.'
    return `${name} failed: ${message}`
  }
}
