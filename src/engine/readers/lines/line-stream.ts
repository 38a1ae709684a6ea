import type { ArtifactStat } from '../../../ports/artifact-store.ts'
import { chunksOf } from './chunks.ts'
import type { Reader } from '../reader.ts'

const NEWLINE = 10
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
