import { PlimsollError } from '../../core/errors.ts'
import { lineMatcher, type LineMatcher } from './line-matcher.ts'
import { linesOf, type LinePiece } from './line-stream.ts'
import { byteLength, grouped, type Reader, type ReaderAnswer } from './reader.ts'

export interface GrepRequest {
  readonly handle: string
  /** RE2 syntax: what most engines share, without lookaround and back-references. */
  readonly pattern: string
  readonly ignoreCase?: boolean
  /** The pattern is plain text. */
  readonly fixed?: boolean
  /** Lines that do not match. */
  readonly invert?: boolean
  /** Lines shown around each match. @default 0 */
  readonly context?: number
  /** Matching lines shown. @default 50 */
  readonly limit?: number
  /** Matching lines passed over first. @default 0 */
  readonly offset?: number
}

const MAX_CONTEXT = 20
const DEFAULT_LIMIT = 50
/** Longer lines are shown as an excerpt around each match. */
const LONG_LINE = 500
const EXCERPT = 160
/** Excerpts of one piece of a long line: a search for the next match may cost the whole piece each time. */
const MAX_PER_PIECE = 20
const HEADER_BYTES = 420

/** Finds lines. Linear in the artifact whatever the pattern, with totals even where not all can be shown. */
export async function artifactGrep(reader: Reader, request: GrepRequest): Promise<ReaderAnswer> {
  const { limit = DEFAULT_LIMIT, offset = 0, invert = false } = request
  const context = Math.min(request.context ?? 0, MAX_CONTEXT)
  for (const [name, value] of Object.entries({ limit, offset, context })) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new PlimsollError('bad-input', `${name} must be a whole number from 0; it is ${value}.`)
  }
  const matcher = lineMatcher(request.pattern, request)
  const stat = await reader.find(request.handle)
  const output = grepOutput(reader.room(1) - HEADER_BYTES, context, offset, limit)
  const deadline = reader.clock.now() + reader.timeoutMs
  let scanned = stat.bytes
  for await (const pieces of linesOf(reader, stat)) {
    for (const piece of pieces) scanPiece(piece, matcher, invert, output)
    const reached = pieces.at(-1)
    if (reader.clock.now() < deadline || reached === undefined) continue
    scanned = reached.start + reached.bytes.length
    break
  }
  const stopped =
    scanned < stat.bytes
      ? `; stopped after ${grouped(reader.timeoutMs)} ms at byte ${grouped(scanned)} of ${grouped(stat.bytes)}`
      : ''
  const { shown, matches, full, least } = output.end()
  const pattern = JSON.stringify(request.pattern).slice(0, 200)
  const header = `${stat.handle} ${least ? 'at least ' : ''}${grouped(matches)} ${invert ? 'lines do not match' : 'matches of'} ${pattern}${stopped}`
  const last = offset + shown.count
  const more =
    last < matches
      ? `\n[shown ${shown.count === 0 ? 'none' : `${offset + 1}-${last}`} of ${grouped(matches)}; more: offset=${last}]`
      : ''
  const body = shown.text === '' ? '' : `\n${shown.text}`
  return reader.answer(header + body + more, [stat.handle], stopped !== '' || full)
}

function scanPiece(piece: LinePiece, matcher: LineMatcher, invert: boolean, output: GrepOutput): void {
  const { bytes, line, whole, start } = piece
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
  if (whole && (invert || text.length <= LONG_LINE)) {
    output.line(line, text.length <= LONG_LINE ? text : beginning(text, bytes.length), matcher.test(text) !== invert)
    return
  }
  // Of a line too long to show, each match counts for itself. Inverted, a line in pieces would only be noise.
  if (invert) return
  let found = false
  for (let from = 0, count = 0; from <= text.length; count++) {
    const match = matcher.find(text, from)
    if (match === undefined) break
    if (count === MAX_PER_PIECE) return output.more()
    from = Math.max(match.end, match.start + 1)
    const at = start + byteLength(text.slice(0, match.start))
    if (at < piece.ownFrom || at >= piece.ownTo) continue
    found = true
    output.line(line, `byte ${grouped(at)}: ${excerpt(text, match)}`, true)
  }
  if (!found && whole) output.line(line, beginning(text, bytes.length), false)
}

const beginning = (text: string, bytes: number): string =>
  `${text.slice(0, wholeFrom(text, EXCERPT))}... [${grouped(bytes)} bytes]`

function excerpt(text: string, { start, end }: { start: number; end: number }): string {
  const from = wholeFrom(text, Math.max(0, start - EXCERPT))
  const to = wholeFrom(text, Math.min(text.length, Math.min(end, start + EXCERPT) + EXCERPT))
  return `${from > 0 ? '...' : ''}${text.slice(from, to)}${to < text.length ? '...' : ''}`
}

/** Steps back from the middle of a surrogate pair. */
const wholeFrom = (text: string, at: number): number => ((text.charCodeAt(at) & 0xfc00) === 0xdc00 ? at - 1 : at)

interface GrepOutput {
  line(line: number, text: string, isMatch: boolean): void
  /** There are more matches than were counted. */
  more(): void
  end(): {
    readonly shown: { readonly text: string; readonly count: number }
    readonly matches: number
    readonly full: boolean
    readonly least: boolean
  }
}

/** Collects what is shown within `room`, like `grep -n -C`: `12:` before a match, `12-` before its context. */
function grepOutput(room: number, context: number, offset: number, limit: number): GrepOutput {
  const lines: string[] = []
  let before: { line: number; text: string }[] = []
  let after = 0
  let used = 0
  let count = 0
  let matches = 0
  let full = false
  let least = false
  let lastLine = 0

  function push(line: number, mark: ':' | '-', text: string): boolean {
    const gap = context > 0 && lastLine > 0 && line > lastLine + 1 ? '--\n' : ''
    const entry = `${gap}${line}${mark}${text}`
    const size = byteLength(entry) + 1
    if (used + size > room) return false
    used += size
    lastLine = line
    lines.push(entry)
    return true
  }

  function showMatch(line: number, text: string): void {
    if (full || count >= limit) {
      full = true
      return
    }
    for (const each of before) if (each.line > lastLine && !push(each.line, '-', each.text)) break
    if (!push(line, ':', text)) {
      full = true
      return
    }
    count++
    after = context
  }

  return {
    line(line, text, isMatch) {
      if (isMatch && matches++ >= offset) showMatch(line, text)
      else if (after > 0 && !full) {
        after--
        push(line, '-', text)
      }
      if (context === 0) return
      before.push({ line, text: text.slice(0, LONG_LINE) })
      if (before.length > context) before = before.slice(-context)
    },
    more() {
      least = true
    },
    end: () => ({ shown: { text: lines.join('\n'), count }, matches, full, least }),
  }
}
