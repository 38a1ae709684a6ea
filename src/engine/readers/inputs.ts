import { PlimsollError } from '../../core/errors.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'
import { readBytes } from './lines/chunks.ts'
import { grouped, type Reader } from './reader.ts'

/** One artifact, or several that are looked at together. */
export interface InputRequest {
  readonly handle: string
  /** Further artifacts, in order. */
  readonly also?: readonly string[]
}

export interface Input {
  readonly stat: ArtifactStat
  readonly bytes: Uint8Array
}

const MAX_INPUTS = 8

/** Whole artifacts for an engine that needs all of them in memory, as long as they are not too large for it together. */
export async function loadInputs(
  reader: Reader,
  { handle, also = [] }: InputRequest,
  maxBytes: number,
): Promise<Input[]> {
  const handles = [...new Set([handle, ...also])]
  if (handles.length > MAX_INPUTS)
    throw new PlimsollError('bad-input', `${handles.length} artifacts were named; ${MAX_INPUTS} is the most.`)
  const stats = await Promise.all(handles.map(async (each) => reader.find(each)))
  const total = stats.reduce((sum, { bytes }) => sum + bytes, 0)
  if (total > maxBytes) {
    throw new PlimsollError(
      'bad-input',
      `The artifacts have ${grouped(total)} bytes; ${grouped(maxBytes)} can be loaded at once.`,
      {
        advice: 'Use artifact_grep or artifact_read, which have no such limit.',
      },
    )
  }
  return Promise.all(stats.map(async (stat) => ({ stat, bytes: await readBytes(reader, stat, 0, stat.bytes) })))
}
