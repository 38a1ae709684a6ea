import type { GrepOutput } from './grep-output.ts'
import type { LineMatcher } from './line-matcher.ts'
import type { LineBlock, LinePiece, LineStretch } from '../lines/line-stream.ts'
import { byteLength, grouped } from '../reader.ts'

/** Longer lines are shown as an excerpt around each match. */
const LONG_LINE = 500
const EXCERPT = 160
/** Excerpts of one long line or piece: a search for the next match may cost the whole piece each time. */
const MAX_PER_LINE = 20

export interface GrepScan {
  readonly matcher: LineMatcher
  readonly invert: boolean
  /** Lines around a match are shown, so every line has to be looked at. */
  readonly everyLine: boolean
  readonly output: GrepOutput
}

export function scanStretch(stretch: LineStretch, scan: GrepScan): void {
  if (!stretch.whole) scanPiece(stretch, scan)
  else if (scan.invert || scan.everyLine || scan.matcher.candidate === undefined) scanLines(stretch, scan)
  else scanCandidates(stretch, scan, scan.matcher.candidate)
}

/** Looks only at the lines that may match. */
function scanCandidates(block: LineBlock, scan: GrepScan, candidate: (text: string, from: number) => number): void {
  const { text } = block
  let line = block.line
  let at = 0
  for (let found = candidate(text, 0); found !== -1; found = candidate(text, at)) {
    const start = found === 0 ? 0 : text.lastIndexOf('\n', found - 1) + 1
    line += countNewlines(text, at, start)
    at = scanLine(block, scan, start, line)
    line++
  }
}

function scanLines(block: LineBlock, scan: GrepScan): void {
  for (let at = 0, line = block.line; line < block.line + block.lines; line++) at = scanLine(block, scan, at, line)
}

/** Looks at the line that begins at `start`; returns where the next one begins. */
function scanLine({ text, start: base }: LineBlock, scan: GrepScan, start: number, line: number): number {
  const newline = text.indexOf('\n', start)
  const next = newline === -1 ? text.length : newline
  const end = next > start && text.charCodeAt(next - 1) === 13 ? next - 1 : next
  const content = text.slice(start, end)
  const { matcher, invert, output } = scan
  if (content.length > LONG_LINE && !invert) {
    if (!scanLong(content, () => base + byteLength(text.slice(0, start)), line, scan))
      output.other(line, () => beginning(content))
  } else {
    const shown = (): string => (content.length > LONG_LINE ? beginning(content) : content)
    if (matcher.test(content) === invert) output.other(line, shown)
    else output.match(line, shown)
  }
  return next + 1
}

/** Of a line too long to show, each match counts for itself. False when there is none. */
function scanLong(text: string, start: () => number, line: number, { matcher, output }: GrepScan): boolean {
  let from = 0
  for (let count = 0; from <= text.length; count++) {
    const match = matcher.find(text, from)
    if (match === undefined) return count > 0
    if (count === MAX_PER_LINE) {
      output.more()
      return true
    }
    from = Math.max(match.end, match.start + 1)
    output.match(
      line,
      () => `byte ${grouped(start() + byteLength(text.slice(0, match.start)))}: ${excerpt(text, match)}`,
    )
  }
  return true
}

/** A line in pieces: a match is reported by the piece that owns its first byte. Inverted it would only be noise. */
function scanPiece({ text, line, start, ownFrom, ownTo }: LinePiece, { matcher, invert, output }: GrepScan): void {
  if (invert) return
  let from = 0
  for (let count = 0; from <= text.length; count++) {
    const match = matcher.find(text, from)
    if (match === undefined) return
    if (count === MAX_PER_LINE) return output.more()
    from = Math.max(match.end, match.start + 1)
    const at = start + byteLength(text.slice(0, match.start))
    if (at >= ownFrom && at < ownTo) output.match(line, () => `byte ${grouped(at)}: ${excerpt(text, match)}`)
  }
}

function countNewlines(text: string, from: number, to: number): number {
  let count = 0
  for (let at = text.indexOf('\n', from); at !== -1 && at < to; at = text.indexOf('\n', at + 1)) count++
  return count
}

const beginning = (text: string): string =>
  `${text.slice(0, wholeFrom(text, EXCERPT))}... [${grouped(byteLength(text))} bytes]`

function excerpt(text: string, { start, end }: { start: number; end: number }): string {
  const from = wholeFrom(text, Math.max(0, start - EXCERPT))
  const to = wholeFrom(text, Math.min(text.length, Math.min(end, start + EXCERPT) + EXCERPT))
  return `${from > 0 ? '...' : ''}${text.slice(from, to)}${to < text.length ? '...' : ''}`
}

/** Steps back from the middle of a surrogate pair. */
const wholeFrom = (text: string, at: number): number => ((text.charCodeAt(at) & 0xfc00) === 0xdc00 ? at - 1 : at)
