import { PlimsollError } from '../../core/errors.ts'
import type { Reader } from './reader.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'

/** Large enough that a read costs little beside its bytes, small enough that one chunk does not hold up the process. */
const CHUNK_BYTES = 1024 * 1024

/** The artifact's bytes, a chunk at a time: no reader holds the whole. */
async function* chunksOf(
  reader: Reader,
  stat: ArtifactStat,
): AsyncGenerator<{ readonly start: number; readonly bytes: Uint8Array }> {
  for (let start = 0; start < stat.bytes; start += CHUNK_BYTES) {
    reader.progress(start / stat.bytes)
    yield { start, bytes: await readBytes(reader, stat, start, Math.min(start + CHUNK_BYTES, stat.bytes)) }
  }
}

export async function readBytes(reader: Reader, stat: ArtifactStat, start: number, end: number): Promise<Uint8Array> {
  reader.signal?.throwIfAborted()
  const bytes = await reader.store.read(reader.tenant, stat.handle, { start, end })
  if (bytes === undefined)
    throw new PlimsollError('not-found', `The artifact ${stat.handle} was deleted while it was read.`)
  return bytes
}

const NEWLINE = 10

/** A last line without a newline counts; an empty artifact has none. */
export async function countLines(reader: Reader, stat: ArtifactStat): Promise<number> {
  let newlines = 0
  let last = NEWLINE
  for await (const { bytes } of chunksOf(reader, stat)) {
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) newlines++
    last = bytes[bytes.length - 1] ?? last
  }
  return newlines + (last === NEWLINE ? 0 : 1)
}

/** The byte at which line `line` (from 1) begins. There must be such a line. */
export async function offsetOfLine(reader: Reader, stat: ArtifactStat, line: number): Promise<number> {
  let missing = line - 1
  if (missing <= 0) return 0
  for await (const { start, bytes } of chunksOf(reader, stat)) {
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
      if (--missing === 0) return start + at + 1
    }
  }
  return stat.bytes
}

/** A line that is longer comes in parts of at least this size: no text can be as long as an artifact may be. */
const MOST_HELD_BYTES = 256 * 2 ** 20

/** Lines that follow each other, as one text: decoding each for itself would cost more than searching it. */
export interface LineBlock {
  /** Number of the first one, from 1. */
  readonly line: number
  /** Byte of the artifact at which it begins. */
  readonly start: number
  /** With the ends of the lines. */
  readonly text: string
}

/** The lines of an artifact in order, in blocks as they are read. */
export async function* linesOf(reader: Reader, stat: ArtifactStat): AsyncGenerator<LineBlock> {
  let line = 1
  let start = 0
  /** The beginning of a line whose end has not been read yet. */
  let rest: Uint8Array[] = []
  for await (const { start: at, bytes } of chunksOf(reader, stat)) {
    const isEnd = at + bytes.length === stat.bytes || at - start > MOST_HELD_BYTES
    const end = isEnd ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1
    if (end > 0) {
      const block = Buffer.concat([...rest, bytes.subarray(0, end)])
      yield { line, start, text: block.toString('utf8') }
      for (let found = block.indexOf(NEWLINE); found !== -1; found = block.indexOf(NEWLINE, found + 1)) line++
      start = at + end
      rest = []
    }
    if (end < bytes.length) rest.push(bytes.subarray(end))
  }
}
