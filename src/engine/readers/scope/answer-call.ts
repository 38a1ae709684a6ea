import type { ArtifactReaders } from '../artifact-readers.ts'
import type { ReaderAnswer, ReaderCallOptions } from '../reader.ts'
import { compactCall, type ReaderCall } from '../reader-tools.ts'
import { callReader } from '../tools.ts'
import type { HistoryScope } from './history-scope.ts'
import type { RecallAnswer } from './recall.ts'

/** Who asks: the readers of its tenant, and what it may look up with them. */
export interface Asker {
  readonly scope: HistoryScope
  readonly readers: ArtifactReaders
}

/**
 * The one way in which a call of a reader is answered, whoever makes it: the gateway in a hidden step, an MCP client, a loop of somebody's
 * own. What the model did wrong is part of the answer; undefined for a tool that is none of ours.
 */
export function answerCall(
  { scope, readers }: Asker,
  call: ReaderCall,
  options: Omit<ReaderCallOptions, 'mayOpen'> = {},
): Promise<ReaderAnswer | RecallAnswer> | undefined {
  const { name, input } = compactCall(call)
  if (name === 'recall') return scope.recall(input)
  return callReader(readers.within({ ...options, mayOpen: scope.mayOpen }), name, input)
}
