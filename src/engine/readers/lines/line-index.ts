import type { Handle } from '../../../core/handles.ts'
import type { ArtifactStat } from '../../../ports/artifact-store.ts'
import { chunksOf } from './chunks.ts'
import type { Reader } from '../reader.ts'

const NEWLINE = 10

/** Where lines begin, remembered once per chunk: enough to start near any line, small for any size. */
export interface LineIndex {
  /** A last line without a newline counts; an empty artifact has none. */
  readonly lines: number
  /** Newlines before each chunk that was read, with the place of the chunk. */
  readonly marks: readonly { readonly at: number; readonly newlines: number }[]
}

/** Content never changes under a handle, so an index is good for as long as anyone asks. */
export interface LineIndexes {
  of(reader: Reader, stat: ArtifactStat): Promise<LineIndex>
}

export function lineIndexes(capacity = 64): LineIndexes {
  const known = new Map<Handle, Promise<LineIndex>>()
  return {
    of(reader, stat) {
      // Others may wait for the same index when the first to ask does not any more.
      const found = known.get(stat.handle) ?? build({ ...reader, signal: undefined }, stat)
      known.delete(stat.handle)
      known.set(stat.handle, found)
      found.catch(() => known.delete(stat.handle))
      for (const oldest of known.keys()) {
        if (known.size <= capacity) break
        known.delete(oldest)
      }
      return found
    },
  }
}

async function build(reader: Reader, stat: ArtifactStat): Promise<LineIndex> {
  const marks: { at: number; newlines: number }[] = []
  let newlines = 0
  let last = NEWLINE
  for await (const { start, bytes } of chunksOf(reader, stat)) {
    marks.push({ at: start, newlines })
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) newlines++
    last = bytes[bytes.length - 1] ?? last
  }
  return { lines: newlines + (last === NEWLINE ? 0 : 1), marks }
}

/** The byte at which line `line` (from 1) begins. `line` must be within the index. */
export async function offsetOfLine(
  reader: Reader,
  stat: ArtifactStat,
  index: LineIndex,
  line: number,
): Promise<number> {
  if (line <= 1) return 0
  const mark = index.marks.findLast(({ newlines }) => newlines < line - 1) ?? { at: 0, newlines: 0 }
  let missing = line - 1 - mark.newlines
  for await (const { start, bytes } of chunksOf(reader, stat, mark.at)) {
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) {
      if (--missing === 0) return start + at + 1
    }
  }
  return stat.bytes
}
