import { counted, grouped, cutHead, cutTail, eachLine, lineStart, omittedChars, omittedLines } from '../text.ts'
import type { BodyView, ViewInput } from '../types.ts'
import { sanitise } from '../sanitise.ts'

/** Text by lines: what the lines add up to, those that matter, then head and tail. */
export function textView(input: ViewInput, profile: LineProfile): BodyView {
  const lines = viewLines(input, profile)
  const preamble = input.clean(input.text.slice(0, input.from).trimEnd())
  return {
    syntax: 'text',
    mode: profile.facts === undefined ? 'head-tail' : 'template',
    render(chars) {
      const before = headOf(preamble, chars)
      const summary =
        profile.facts === undefined || chars < 300
          ? ''
          : factsWithin(profile.facts().map(input.clean), Math.floor((chars - before.length) * 0.5))
      const view = lines.render(Math.max(0, chars - before.length - summary.length))
      const body = [before, summary, view.text].filter((part) => part !== '').join('\n')
      const ranked = lines.ranked.slice(0, 3).reduce((sum, count) => sum + count, 0)
      const important = profile.ranking === undefined || ranked === 0 ? '' : `, ${profile.ranking} first`
      const what = lines.total === 1 ? 'both ends of the line' : `${counted(view.lines, 'line')}${important}`
      return {
        body,
        holds: summary === '' ? what : `a summary and ${what}`,
        leftOut:
          lines.total === 1
            ? `the middle of 1 line of ${counted(input.text.length - input.from, 'char')}`
            : `${grouped(lines.total - view.lines)} of ${counted(lines.total, 'line')}`,
        lines: view.lines,
      }
    },
  }
}

/** Status lines stay whole as long as they are short against the room. */
function headOf(preamble: string, chars: number): string {
  if (preamble === '' || chars <= 0) return ''
  if (preamble.length <= chars * 0.3) return preamble
  const lines = preamble.split('\n').filter((line) => line.length <= chars * 0.2)
  return withinRoom(lines, Math.floor(chars * 0.3))
}

/** Whole lines only, those that fit. */
export function withinRoom(lines: readonly string[], room: number): string {
  const out: string[] = []
  let used = 0
  for (const line of lines) {
    if (used + line.length + 1 > room) continue
    out.push(line)
    used += line.length + 1
  }
  return out.join('\n')
}

/** Facts are headings with indented lines below: one whose lines found no room goes too. */
function factsWithin(facts: readonly string[], room: number): string {
  const kept = withinRoom(facts, room).split('\n')
  return kept.filter((line, i) => !line.endsWith(':') || kept[i + 1]?.startsWith('  ') === true).join('\n')
}

/**
 * A view of text as lines: the ones that matter by the profile of its kind, then head and tail, in their order, with an exact
 * marker in every gap. Lines are never collected as a whole; state is the chosen candidates.
 */
export interface LineProfile {
  /**
   * Importance of a line: 0 is the exit status or the verdict, 1 an error, 2 its context, 3 structure. Undefined for the rest.
   * Called once per line, in order.
   */
  rank?(line: string, index: number): Rank | undefined
  /** Lines that say what the lines add up to. Called after the last one; may be called again. */
  facts?(): readonly string[]
  /** What the ranked lines are, for the notice. */
  readonly ranking?: string
  /** Share of head-and-tail room that goes to the tail. @default 0.5 */
  readonly tailShare?: number
  /** Keep fences closed and table headers above their rows. */
  readonly markdown?: boolean
  /** The first line is a header that always stays. */
  readonly header?: number
}

export type Rank = 0 | 1 | 2 | 3

interface Line {
  readonly index: number
  readonly start: number
  readonly end: number
}

interface Candidates {
  readonly first: Line[]
  last?: Line
  seen: number
}

/** Room each rank may take before head and tail get theirs. What a rank leaves unused goes on to the next. */
const RANK_SHARES: readonly number[] = [0.3, 0.35, 0.3, 0.25]
const MAX_CANDIDATES = 400
const GAP_CHARS = 36
/** In less room than this a marker would cost more than the line it stands beside; the notice still has the count. */
const MARKED_CHARS = 200
const MIN_LINE = 16
/** A line that is longer than this is ranked by its start. */
const RANKED_CHARS = 2_000

interface LineView {
  readonly total: number
  /** Lines of each rank, whether shown or not. */
  readonly ranked: readonly number[]
  render(chars: number): { readonly text: string; readonly lines: number }
}

interface Block {
  readonly open: number
  close: number
  /** Rows after a gap need their header again; the lines of a fence do not. */
  readonly repeat: boolean
  /** What to write when the block is entered in the middle. */
  readonly reopen: readonly string[]
  readonly end: readonly string[]
}

function viewLines({ text, from, windowChars, clean }: ViewInput, profile: LineProfile): LineView {
  const ranks: Candidates[] = [0, 1, 2, 3].map(() => ({ first: [], seen: 0 }))
  const head: Line[] = []
  let headChars = 0
  let total = 0
  const blocks = profile.markdown === true ? new BlockFinder() : undefined
  function rankOf(start: number, end: number, index: number): Rank | undefined {
    if (profile.rank === undefined && blocks === undefined) return undefined
    const line = sanitise(text.slice(start, end))
    blocks?.add(line, index)
    return profile.rank?.(line, index)
  }
  eachLine(
    text,
    (start, end, index) => {
      total++
      if (headChars < windowChars) {
        head.push({ index, start, end })
        headChars += Math.min(end - start, windowChars) + 1
      }
      if (end === start) return
      const rank = rankOf(start, Math.min(end, start + RANKED_CHARS), index)
      if (rank === undefined) return
      const candidates = ranks[rank]!
      candidates.seen++
      if (candidates.first.length < MAX_CANDIDATES) candidates.first.push({ index, start, end })
      else candidates.last = { index, start, end }
    },
    from,
  )
  blocks?.finish(total)
  const tail = tailLines(text, from, total, windowChars)
  const { tailShare = 0.5, header = 0 } = profile

  return {
    total,
    ranked: ranks.map((candidates) => candidates.seen),
    render(chars) {
      const maxLine =
        total <= 2 || chars < 400
          ? Math.max(16, Math.min(chars, total <= 2 ? chars : 120))
          : Math.min(2_000, Math.max(80, Math.floor(chars / 5)))
      const chosen = new Map<number, Line>()
      let left = chars
      const costOf = (line: Line): number => {
        const lonely = chars >= MARKED_CHARS && !chosen.has(line.index - 1) && !chosen.has(line.index + 1)
        return Math.min(line.end - line.start, maxLine) + 1 + (lonely ? GAP_CHARS : 0)
      }
      const take = (lines: Iterable<Line>, room: number): void => {
        let used = 0
        for (const line of lines) {
          if (chosen.has(line.index)) continue
          const cost = costOf(line)
          if (used + cost > room || cost > left) break
          chosen.set(line.index, line)
          used += cost
          left -= cost
        }
      }
      take(head.slice(0, header), chars * 0.3)
      for (const [rank, candidates] of ranks.entries()) take(inOrderOfUse(candidates), left * RANK_SHARES[rank]!)
      const tailRoom = left * tailShare
      take(tail, tailRoom)
      take(head, left)
      take(tail, left)
      for (const candidates of ranks) take(inOrderOfUse(candidates), left)
      // Better one cut line than none: the newest of the most important ones.
      if (chosen.size === 0 && chars >= MIN_LINE) {
        const only = ranks.flatMap((candidates) => [...inOrderOfUse(candidates)].slice(0, 1))[0] ?? tail[0]
        if (only !== undefined) chosen.set(only.index, only)
      }
      const lines = [...chosen.values()].sort((a, b) => a.index - b.index)
      return write(text, lines, { total, chars, maxLine, blocks: blocks?.blocks ?? [], clean })
    },
  }
}

/** The newest first, since a failing run ends with its reason; then from the start. */
function* inOrderOfUse({ first, last }: Candidates): Generator<Line> {
  const newest = last ?? first[first.length - 1]
  if (newest !== undefined) yield newest
  yield* first
}

/** Last lines, newest first, up to about `windowChars`. */
function tailLines(text: string, from: number, total: number, windowChars: number): Line[] {
  const lines: Line[] = []
  let end = text.endsWith('\n') ? text.length - 1 : text.length
  let chars = 0
  for (let index = total - 1; index >= 0 && chars < windowChars; index--) {
    const start = lineStart(text, end, from)
    const last = end > start && text.charCodeAt(end - 1) === 13 ? end - 1 : end
    lines.push({ index, start: Math.min(start, last), end: last })
    chars += Math.min(last - start, windowChars) + 1
    end = start - 1
  }
  return lines
}

interface WriteOptions {
  readonly total: number
  readonly chars: number
  readonly maxLine: number
  readonly blocks: readonly Block[]
  readonly clean: (text: string) => string
}

function write(
  text: string,
  lines: readonly Line[],
  { total, chars, maxLine, blocks, clean }: WriteOptions,
): { text: string; lines: number } {
  const out: string[] = []
  let next = 0
  let open: Block | undefined
  for (const line of lines) {
    const block = blocks.find((each) => each.open < line.index && line.index <= each.close)
    if (line.index > next && chars >= MARKED_CHARS) {
      if (open !== undefined && open !== block) out.push(...open.end)
      out.push(omittedLines(line.index - next, total))
      if (block !== undefined && (block !== open || block.repeat)) out.push(...block.reopen.map(clean))
    }
    out.push(cutLine(text, line, maxLine, clean))
    open = blocks.find((each) => each.open <= line.index && line.index < each.close)
    next = line.index + 1
  }
  if (open !== undefined && next <= open.close) out.push(...open.end)
  if (next < total && chars >= MARKED_CHARS) out.push(omittedLines(total - next, total))
  return { text: out.join('\n'), lines: lines.length }
}

const TROUBLE = /error|exception|fatal|fail(?:ed|ure)|panic|denied|refused|timed? ?out/i
const MAX_SEARCH = 4_000_000

/** A line in at most about `max` characters: its head, a window around the first sign of trouble, its tail. */
function cutLine(text: string, { start, end }: Line, max: number, clean: (text: string) => string): string {
  const length = end - start
  if (length <= max) return clean(text.slice(start, end))
  if (max < 120) return `${clean(cutHead(text.slice(start, start + max), max - 1))}…`
  const room = max - 40
  const middle = length > max * 4 && room >= 300 ? troubleIn(text, start, end, room) : undefined
  const tailRoom = Math.floor(room * 0.35)
  const middleRoom = middle === undefined ? 0 : middle.end - middle.start
  const headEnd = start + cutHead(text.slice(start, start + room), room - tailRoom - middleRoom).length
  const tailStart = end - cutTail(text.slice(end - room, end), tailRoom).length
  const piece = (from: number, to: number): string => clean(text.slice(from, to))
  if (middle === undefined || middle.start < headEnd || middle.end > tailStart) {
    return `${piece(start, headEnd)} ${omittedChars(tailStart - headEnd, length)} ${piece(tailStart, end)}`
  }
  return (
    `${piece(start, headEnd)} ${omittedChars(middle.start - headEnd, length)} ${piece(middle.start, middle.end)} ` +
    `${omittedChars(tailStart - middle.end, length)} ${piece(tailStart, end)}`
  )
}

function troubleIn(text: string, start: number, end: number, room: number): { start: number; end: number } | undefined {
  const from = start + Math.floor(room * 0.6)
  const found = TROUBLE.exec(text.slice(from, Math.min(end, from + MAX_SEARCH)))
  if (found === null) return undefined
  const width = Math.floor(room * 0.25)
  const at = from + found.index
  const head = cutTail(text.slice(Math.max(start, at - width), at), Math.floor(width / 3))
  const tail = cutHead(text.slice(at, Math.min(end, at + width)), width - head.length)
  return { start: at - head.length, end: at + tail.length }
}

/** Finds fenced blocks and pipe tables, so that a cut inside one can be repaired. */
class BlockFinder {
  readonly blocks: Block[] = []
  #fence: { mark: string; info: string; open: number } | undefined
  #table: Block | undefined
  #previous = ''

  add(line: string, index: number): void {
    if (this.blocks.length > 5_000) return
    const mark = /^ {0,3}(`{3,}|~{3,})(.*)$/.exec(line)
    if (this.#fence !== undefined) {
      if (mark !== null && mark[1]!.startsWith(this.#fence.mark) && mark[2]!.trim() === '') this.#closeFence(index)
    } else if (mark !== null) {
      this.#closeTable(index - 1)
      this.#fence = { mark: mark[1]!, info: mark[2]!, open: index }
    } else if (this.#table !== undefined) {
      if (!line.includes('|')) this.#closeTable(index - 1)
    } else if (/^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)+\|?\s*$/.test(line) && this.#previous.includes('|')) {
      this.#table = { open: index, close: index, repeat: true, reopen: [this.#previous, line], end: [] }
    }
    this.#previous = line
  }

  finish(total: number): void {
    if (this.#fence !== undefined) this.#closeFence(total)
    this.#closeTable(total)
  }

  #closeFence(index: number): void {
    const { mark, info, open } = this.#fence!
    this.blocks.push({ open, close: index, repeat: false, reopen: [`${mark}${info}`], end: [mark] })
    this.#fence = undefined
  }

  #closeTable(index: number): void {
    if (this.#table === undefined) return
    this.#table.close = index
    this.blocks.push(this.#table)
    this.#table = undefined
  }
}
