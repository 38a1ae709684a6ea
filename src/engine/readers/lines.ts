import { PlimsollError } from '../../core/errors.ts'
import type { Handle } from '../../core/handles.ts'
import type { Reader } from './reader.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'

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

const RETURN = 13
/** A longer line comes in pieces of this size, so that one line of 100 MB is never held whole. */
const PIECE_BYTES = 256 * 1024
/** Pieces of one line share this much: what stands on a seam is whole in one of them. */
const OVERLAP_BYTES = 4 * 1024

/** Whole lines that follow each other, as one text: decoding each for itself would cost more than searching it. */
export interface LineBlock {
  readonly whole: true
  /** Number of the first one, from 1. */
  readonly line: number
  readonly lines: number
  /** Byte of the artifact at which it begins. */
  readonly start: number
  /** With the ends of the lines, but for the last. */
  readonly text: string
}

/** A part of one very long line. */
export interface LinePiece {
  readonly whole: false
  readonly line: number
  readonly start: number
  readonly text: string
  /** What begins at a byte in [ownFrom, ownTo) belongs to this piece; its neighbours see some of it too. */
  readonly ownFrom: number
  readonly ownTo: number
}

export type LineStretch = LineBlock | LinePiece

/** The lines of an artifact in order, in batches as they are read. */
export async function* linesOf(reader: Reader, stat: ArtifactStat): AsyncGenerator<readonly LineStretch[]> {
  let line = 1
  let rest: Uint8Array = new Uint8Array()
  let restStart = 0
  /** Where the next piece of an unfinished long line takes over; undefined at the beginning of a line. */
  let seam: number | undefined

  for await (const chunk of chunksOf(reader, stat)) {
    const bytes = rest.length === 0 ? chunk.bytes : Buffer.concat([rest, chunk.bytes])
    const base = rest.length === 0 ? chunk.start : restStart
    const isEnd = chunk.start + chunk.bytes.length === stat.bytes
    const stretches: LineStretch[] = []
    let at = 0

    const pushPiece = (end: number, ownTo: number): void => {
      stretches.push({ whole: false, line, start: base + at, text: textOf(bytes, at, end), ownFrom: seam ?? 0, ownTo })
    }
    const cutPieces = (to: number): void => {
      while (to - at > PIECE_BYTES) {
        const next = characterStart(bytes, at + PIECE_BYTES - OVERLAP_BYTES)
        const ownTo = base + next + OVERLAP_BYTES / 2
        pushPiece(characterStart(bytes, at + PIECE_BYTES), ownTo)
        seam = ownTo
        at = next
      }
    }
    const endLongLine = (end: number): void => {
      cutPieces(end)
      pushPiece(end, Infinity)
      seam = undefined
      line++
    }
    const pushBlock = (end: number): void => {
      const text = textOf(bytes, at, end)
      const lines = countNewlines(bytes, at, end) + 1
      stretches.push({ whole: true, line, lines, start: base + at, text })
      line += lines
    }
    /** Lines up to `end`, which is the place of a newline or the end of all. */
    const takeLines = (end: number): void => {
      if (!hasLongLine(bytes, at, end)) return pushBlock(end)
      while (at <= end) {
        const newline = bytes.subarray(0, end).indexOf(NEWLINE, at)
        const stop = newline === -1 ? end : newline
        if (stop - at > PIECE_BYTES) endLongLine(withoutReturn(bytes, at, stop))
        else pushBlock(stop)
        at = stop + 1
      }
    }

    if (seam !== undefined) {
      const newline = bytes.indexOf(NEWLINE, rest.length)
      const end = newline === -1 && isEnd ? bytes.length : newline
      if (end !== -1) {
        endLongLine(withoutReturn(bytes, at, end))
        at = end + 1
      }
    }
    if (seam === undefined) {
      const last = isEnd && bytes[bytes.length - 1] !== NEWLINE ? bytes.length : bytes.lastIndexOf(NEWLINE)
      if (last >= at && at < bytes.length) {
        takeLines(last)
        at = last + 1
      }
    }
    if (at < bytes.length) cutPieces(bytes.length)
    rest = bytes.subarray(Math.min(at, bytes.length))
    restStart = base + at
    yield stretches
  }
}

const textOf = (bytes: Uint8Array, from: number, to: number): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from).toString('utf8')

function countNewlines(bytes: Uint8Array, from: number, to: number): number {
  let count = 0
  for (let at = bytes.indexOf(NEWLINE, from); at !== -1 && at < to; at = bytes.indexOf(NEWLINE, at + 1)) count++
  return count
}

/** A newline in every half piece means that no line is longer than a piece. */
function hasLongLine(bytes: Uint8Array, from: number, to: number): boolean {
  const half = PIECE_BYTES / 2
  for (let at = from; at + half <= to; at += half) {
    const newline = bytes.indexOf(NEWLINE, at)
    if (newline === -1 || newline >= at + half) return true
  }
  return false
}

const withoutReturn = (bytes: Uint8Array, from: number, end: number): number =>
  end > from && bytes[end - 1] === RETURN ? end - 1 : end

/** The beginning of the UTF-8 character that `at` lies in. */
function characterStart(bytes: Uint8Array, at: number): number {
  let start = at
  for (let back = 0; back < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80; back++) start--
  return start
}
