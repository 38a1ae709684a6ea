import { PlimsollError } from '../../../core/errors.ts'
import type { ArtifactStat } from '../../../ports/artifact-store.ts'
import type { Reader } from '../reader.ts'

/** Large enough that a read costs little beside its bytes, small enough that one chunk does not hold up the process. */
const CHUNK_BYTES = 1024 * 1024

export interface Chunk {
  readonly start: number
  readonly bytes: Uint8Array
}

/** The artifact's bytes from `from` to `to`, a chunk at a time: no reader holds the whole. */
export async function* chunksOf(reader: Reader, stat: ArtifactStat, from = 0, to = stat.bytes): AsyncGenerator<Chunk> {
  for (let start = from; start < to; start += CHUNK_BYTES) {
    reader.progress((start - from) / (to - from))
    yield { start, bytes: await readBytes(reader, stat, start, Math.min(start + CHUNK_BYTES, to)) }
  }
}

export async function readBytes(reader: Reader, stat: ArtifactStat, start: number, end: number): Promise<Uint8Array> {
  reader.signal?.throwIfAborted()
  const bytes = await reader.store.read(reader.tenant, stat.handle, { start, end })
  if (bytes === undefined)
    throw new PlimsollError('not-found', `The artifact ${stat.handle} was deleted while it was read.`)
  return bytes
}
