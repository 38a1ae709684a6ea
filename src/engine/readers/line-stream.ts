import type { ArtifactStat } from '../../ports/artifact-store.ts'
import { chunksOf } from './chunks.ts'
import type { Reader } from './reader.ts'

const NEWLINE = 10
const RETURN = 13
/** A longer line comes in pieces of this size, so that one line of 100 MB is never held whole. */
const PIECE_BYTES = 256 * 1024
/** Pieces of one line share this much: what stands on a seam is whole in one of them. */
const OVERLAP_BYTES = 4 * 1024

/** A line, or a part of a very long one. */
export interface LinePiece {
  /** From 1. */
  readonly line: number
  /** Byte of the artifact at which this piece begins. */
  readonly start: number
  /** Without the line's end. */
  readonly bytes: Uint8Array
  /** The line is here as a whole. */
  readonly whole: boolean
  /** What begins at a byte in [ownFrom, ownTo) belongs to this piece; its neighbours see some of it too. */
  readonly ownFrom: number
  readonly ownTo: number
}

/** The lines of an artifact in order, in batches as they are read. */
export async function* linesOf(reader: Reader, stat: ArtifactStat): AsyncGenerator<readonly LinePiece[]> {
  let line = 1
  let rest: Uint8Array = new Uint8Array()
  let restStart = 0
  /** Where the next piece of an unfinished line takes over; undefined at the beginning of a line. */
  let seam: number | undefined

  for await (const chunk of chunksOf(reader, stat)) {
    const bytes = rest.length === 0 ? chunk.bytes : Buffer.concat([rest, chunk.bytes])
    const base = rest.length === 0 ? chunk.start : restStart
    const pieces: LinePiece[] = []
    let at = 0

    const cutPieces = (to: number): void => {
      while (to - at > PIECE_BYTES) {
        const next = characterStart(bytes, at + PIECE_BYTES - OVERLAP_BYTES)
        const end = characterStart(bytes, at + PIECE_BYTES)
        const ownTo = base + next + OVERLAP_BYTES / 2
        pieces.push({ line, start: base + at, bytes: bytes.subarray(at, end), whole: false, ownFrom: seam ?? 0, ownTo })
        seam = ownTo
        at = next
      }
    }
    const endLine = (to: number): void => {
      cutPieces(to)
      const whole = seam === undefined
      pieces.push({ line, start: base + at, bytes: bytes.subarray(at, to), whole, ownFrom: seam ?? 0, ownTo: Infinity })
      seam = undefined
      line++
    }

    for (let newline = bytes.indexOf(NEWLINE, rest.length); newline !== -1; newline = bytes.indexOf(NEWLINE, at)) {
      endLine(newline > at && bytes[newline - 1] === RETURN ? newline - 1 : newline)
      at = newline + 1
    }
    if (chunk.start + chunk.bytes.length < stat.bytes) cutPieces(bytes.length)
    else if (at < bytes.length) endLine(bytes.length)
    rest = bytes.subarray(at)
    restStart = base + at
    yield pieces
  }
}

/** The beginning of the UTF-8 character that `at` lies in. */
function characterStart(bytes: Uint8Array, at: number): number {
  let start = at
  for (let back = 0; back < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80; back++) start--
  return start
}
