import { lineMatcher, type LineMatcher } from './line-matcher.ts'
import { type LineBlock, linesOf } from './lines.ts'
import { byteLength, grouped } from '../intake/text.ts'
import { badInput, type Reader, type ReaderAnswer } from './reader.ts'
import type { ArtifactStat } from '../../ports/artifact-store.ts'
import { yieldNow } from '../../util/yield-now.ts'

export interface GrepRequest {
  readonly handle: string
  /** RE2 syntax: what most engines share, without lookaround and back-references. */
  readonly pattern: string
  readonly ignoreCase?: boolean
  /** The pattern is plain text. */
  readonly fixed?: boolean
  /** Lines that do not match. */
  readonly invert?: boolean
  /** Lines shown around each match, 20 at most. @default 0 */
  readonly context?: number
  /** Matches shown. @default 50 */
  readonly limit?: number
  /** Matches passed over first. @default 0 */
  readonly offset?: number
}

const MAX_CONTEXT = 20
const DEFAULT_LIMIT = 50
const HEADER_BYTES = 420

/** Finds lines. Linear in the artifact whatever the pattern, with totals even where not all can be shown. */
export async function artifactGrep(reader: Reader, request: GrepRequest): Promise<ReaderAnswer> {
  const { limit = DEFAULT_LIMIT, offset = 0, invert = false } = request
  const context = Math.min(request.context ?? 0, MAX_CONTEXT)
  for (const [name, value] of Object.entries({ limit, offset, context })) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw badInput(`${name} must be a whole number from 0; it is ${value}.`)
  }
  const matcher = lineMatcher(request.pattern, request)
  const stat = await reader.find(request.handle)
  const output = grepOutput(reader.room(1) - HEADER_BYTES, context, offset, limit)
  const scanned = await scanAll(reader, stat, { matcher, invert, output })
  const stopped =
    scanned < stat.bytes
      ? `; stopped after ${grouped(reader.timeoutMs)} ms at byte ${grouped(scanned)} of ${grouped(stat.bytes)}`
      : ''
  const { text, shown, matches, full, least } = output.end()
  const pattern = JSON.stringify(request.pattern).slice(0, 200)
  const header = `${stat.handle} ${least ? 'at least ' : ''}${grouped(matches)} ${invert ? 'lines do not match' : 'matches of'} ${pattern}${stopped}`
  const last = offset + shown
  const more =
    last < matches
      ? `\n[shown ${shown === 0 ? 'none' : `${offset + 1}-${last}`} of ${grouped(matches)}; more: offset=${last}]`
      : ''
  return reader.answer(`${header}${text === '' ? '' : `\n${text}`}${more}`, [stat.handle], stopped !== '' || full)
}

/** Looks at all of an artifact, or as much as the time allows; how far it came. Others work in between. */
async function scanAll(reader: Reader, stat: ArtifactStat, scan: GrepScan): Promise<number> {
  const deadline = reader.clock.now() + reader.timeoutMs
  const pause = yieldNow()
  for await (const block of linesOf(reader, stat)) {
    for (const done of scanBlock(block, scan)) {
      await pause()
      if (reader.clock.now() >= deadline) return block.start + byteLength(block.text.slice(0, done))
    }
  }
  return stat.bytes
}

/** Longer lines are shown as an excerpt around each match. */
const LONG_LINE = 500
const EXCERPT = 160
/** Excerpts of one long line: a search for the next match may cost a whole window each time. */
const MAX_PER_LINE = 500

interface GrepScan {
  readonly matcher: LineMatcher
  readonly invert: boolean
  readonly output: GrepOutput
}

/** Characters that even the most expensive pattern looks at within a few dozen milliseconds. */
const SLICE_CHARACTERS = 16 * 1024

/** Yields where others may work in between: how many characters of the block are done. */
function* scanBlock({ text, line: first, start }: LineBlock, scan: GrepScan): Generator<number> {
  const { matcher, invert, output } = scan
  let paused = 0
  for (let at = 0, line = first; at < text.length; line++) {
    const newline = text.indexOf('\n', at)
    const next = newline === -1 ? text.length : newline
    const content = text.slice(at, text[next - 1] === '\r' && next > at ? next - 1 : next)
    const isLong = content.length > LONG_LINE
    const shown = (): string => (isLong ? beginning(content) : content)
    if (isLong && !invert) {
      const found = yield* scanLong({ text: content, at, line, start: start + byteLength(text.slice(0, at)) }, scan)
      if (!found) output.other(line, shown)
    } else if (matcher.test(content) === invert) output.other(line, shown)
    else output.match(line, shown)
    at = next + 1
    if (at - paused < SLICE_CHARACTERS) continue
    paused = at
    yield at
  }
  yield text.length
}

interface LongLine {
  readonly text: string
  /** Where the line begins in its block, and its first byte in the artifact. */
  readonly at: number
  readonly line: number
  readonly start: number
}

/** Of a line too long to show, each match counts for itself. False when there is none. */
function* scanLong({ text, at, line, start }: LongLine, { matcher, output }: GrepScan): Generator<number, boolean> {
  let from = 0
  let byte = start
  let counted = 0
  for (let count = 0; from <= text.length; count++) {
    const match = yield* findWithin(matcher, text, from, at)
    if (match === undefined) return count > 0
    if (count === MAX_PER_LINE) {
      output.more()
      return true
    }
    byte += byteLength(text.slice(counted, match.start))
    counted = match.start
    from = Math.max(match.end, match.start + 1)
    output.match(line, () => `byte ${grouped(byte)}: ${excerpt(text, match)}`)
    yield at + from
  }
  return true
}

/** A match that begins this near to the end of a window may go on behind it: the next window begins here. */
const WINDOW_OVERLAP = 1_024

/** The next match, looked for a window at a time; what stands before a window is seen, so that anchors mean the line's own ends. */
function* findWithin(
  matcher: LineMatcher,
  text: string,
  from: number,
  at: number,
): Generator<number, { readonly start: number; readonly end: number } | undefined> {
  for (let start = from; ;) {
    const end = start + matcher.window
    if (end >= text.length) return matcher.find(text, start)
    const match = matcher.find(text.slice(0, end), start)
    if (match !== undefined && isWhole(matcher, match, end)) return match
    yield at + start
    start = end - WINDOW_OVERLAP
  }
}

const isWhole = (matcher: LineMatcher, match: { readonly start: number; readonly end: number }, end: number): boolean =>
  match.end < end || (!matcher.endMatters && match.start < end - WINDOW_OVERLAP)

const beginning = (text: string): string =>
  `${text.slice(0, wholeFrom(text, EXCERPT))}... [${grouped(byteLength(text))} bytes]`

function excerpt(text: string, { start, end }: { start: number; end: number }): string {
  const from = wholeFrom(text, Math.max(0, start - EXCERPT))
  const to = wholeFrom(text, Math.min(text.length, Math.min(end, start + EXCERPT) + EXCERPT))
  return `${from > 0 ? '...' : ''}${text.slice(from, to)}${to < text.length ? '...' : ''}`
}

/** Steps back from the middle of a surrogate pair. */
const wholeFrom = (text: string, at: number): number => ((text.charCodeAt(at) & 0xfc00) === 0xdc00 ? at - 1 : at)

/** What is shown of a search, within a number of bytes, like `grep -n -C`: `12:` before a match, `12-` before its context. */
interface GrepOutput {
  match(line: number, text: () => string): void
  /** A line that does not match; it may be context. */
  other(line: number, text: () => string): void
  /** There are more matches than were counted. */
  more(): void
  end(): GrepShown
}

interface GrepShown {
  readonly text: string
  readonly shown: number
  readonly matches: number
  /** Not all matches after the offset are shown. */
  readonly full: boolean
  /** `matches` is a lower bound. */
  readonly least: boolean
}

function grepOutput(room: number, context: number, offset: number, limit: number): GrepOutput {
  const lines: string[] = []
  let before: { line: number; text: string }[] = []
  let after = 0
  let used = 0
  let shown = 0
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

  function show(line: number, text: string): void {
    for (const each of before) if (each.line > lastLine && !push(each.line, '-', each.text)) break
    full = !push(line, ':', text)
    if (full) return
    shown++
    after = context
  }

  function remember(line: number, text: () => string): void {
    if (context === 0 || full) return
    before.push({ line, text: text() })
    if (before.length > context) before = before.slice(-context)
  }

  return {
    match(line, text) {
      const wanted = matches++ >= offset
      if (wanted && shown === limit) full = true
      if (wanted && !full) show(line, text())
      remember(line, text)
    },
    other(line, text) {
      if (after > 0 && !full) {
        after--
        push(line, '-', text())
      }
      remember(line, text)
    },
    more() {
      least = true
    },
    end: () => ({ text: lines.join('\n'), shown, matches, full, least }),
  }
}
