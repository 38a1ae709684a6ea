import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { stringsIn } from '../../../core/quotes.ts'
import { cutHead } from '../../intake/text.ts'
import { storedText, type Draft, type StoredText } from '../cascade/draft.ts'
import { argumentsOf, callLine, pathOf, type CommonArguments } from './calls.ts'
import { changedLines, changesOf, notMade } from './changes.ts'
import { keepsPlan } from './facts.ts'

/** Results below this size are quoted without a handle: the handle would cost more than it could bring back. */
const HANDLE_FROM_CHARACTERS = 2_000
/** What the model wrote itself is needed again more often than what it read. */
const CALL_WEIGHT = 3
/** A shorter argument stands on the call's line. */
const LINE_CHARACTERS = 120
const LABEL_CHARACTERS = 240
/** Half of what a line is worth is gone after this many model calls. One round number: 10 and 40 measure the same. */
const HALF_AGE = 20
/** A passage with fewer lines that are not blank is shown with its neighbours. */
const FEWEST = 2
/** What a piece of so few lines must hold: an error, or a definition. */
const TELLS =
  /\b(?:\w*error|\w*exception|fatal|panic|failed|failure|func|function|def|class|interface|type|struct|enum|const|export|fn|trait|impl)\b/i
/** A longer line is data, not text; it has a handle. */
const MAX_LENGTH = 1_000
/** Lines below this length (`}`, `return nil`) say little by themselves. */
const TELLING = 20
const SHORT_WORTH = 0.2
/** Gaps of so few lines are closed: the mark would cost as much. */
const CLOSE_GAP = 2

/** A text that excerpts are taken from: a result, or what a call was given to write or run. */
export interface ExcerptSource {
  /** How it is announced where something of it is shown. */
  readonly label: string
  readonly lines: readonly string[]
  /** It is of a file that was changed since the history began. */
  readonly isChanged?: boolean
  /** How much its lines are worth against those of other kinds. */
  readonly weight: number
  /** Model calls since it came. */
  readonly age: number
  readonly tokensPerCharacter: number
  /** Lines that are no content: marks of earlier cuts, and what the tool prints every time. */
  readonly isNoise: (line: string) => boolean
  /** Opens the whole text, where it is long and a tool of the request can open it. */
  readonly stored?: readonly [Handle, StoredText]
}

/** A run of lines that belong together: a paragraph, a small function, a group of matches. Half-open. */
interface Passage {
  readonly from: number
  readonly to: number
}

interface Candidate extends Passage {
  readonly source: number
  readonly cost: number
  readonly worth: number
}

/** Folded items as sources of excerpts, without those that stand elsewhere in the record and those that have no text. */
export function sourcesOf(
  draft: Draft,
  folded: readonly number[],
  textResults: ReadonlySet<Item>,
  common: CommonArguments,
): ExcerptSource[] {
  const { items, turns, tokensOf, handleOf } = draft
  const ages = agesOf(items)
  const isNoise = noiseIn(items)
  const { isGone, isChanged } = goneLines(items)
  const callOf = new Map([...turns.answers].map(([call, result]) => [result, items[call]!]))
  return folded.flatMap((index) => {
    const item = items[index]!
    const text = textOf(item, textResults)
    const call = item.kind === 'call' ? item : callOf.get(index)
    // The plan stands above as it was last written; how it came about is of no use.
    if (text === '' || (call !== undefined && keepsPlan(call))) return []
    const stored = item.kind === 'result' && hasHandle(draft, item) ? handleOf(item.text) : undefined
    const said = textResults.has(item)
      ? actionBefore(items, index)
      : call === undefined
        ? (item.toolName ?? 'result')
        : callLine(call, LABEL_CHARACTERS, common)
    const path = call === undefined ? undefined : pathOf(call)
    return {
      label: `${item.kind === 'call' ? '»' : '«'} ${said}${stored === undefined ? '' : ` ${stored}`}`,
      lines: text.split('\n'),
      isChanged: path !== undefined && isChanged(path),
      weight: item.kind === 'call' ? CALL_WEIGHT : 1,
      age: ages[index]!,
      tokensPerCharacter: Math.max(0.05, tokensOf(item) / Math.max(1, item.text.length)),
      isNoise: path === undefined ? isNoise : (line: string) => isNoise(line) || isGone(path, line, index),
      stored: stored && [stored, storedText(item)],
    }
  })
}

/** Which files were changed, and which of their lines a later change took away again. */
function goneLines(items: readonly Item[]) {
  const gone = new Map<string, Map<string, number>>()
  const failed = new Set(
    items.flatMap((item) => (item.kind === 'result' && notMade(item) !== undefined ? item.callId : [])),
  )
  for (const [index, item] of items.entries()) {
    if (item.kind !== 'call' || failed.has(item.callId)) continue
    for (const change of changesOf(item)) {
      const lines = gone.get(change.path) ?? new Map<string, number>()
      gone.set(change.path, lines)
      const [left, come] = changedLines(change)
      for (const line of left) if (lineKey(line).length >= TELLING) lines.set(lineKey(line), index)
      for (const line of come) lines.delete(lineKey(line))
    }
  }
  return {
    isChanged: (path: string): boolean => gone.has(path),
    isGone: (path: string, line: string, index: number): boolean => (gone.get(path)?.get(lineKey(line)) ?? -1) > index,
  }
}

/** A handle is worth its tokens only where a tool of the request can open it. */
export const hasHandle = (draft: Draft, item: Item): boolean =>
  draft.readers.has('artifact_read') && item.text.length >= HANDLE_FROM_CHARACTERS

function textOf(item: Item, textResults: ReadonlySet<Item>): string {
  if (item.kind === 'result' || item.kind === 'opaque' || textResults.has(item)) return item.text
  if (item.kind !== 'call') return ''
  // What a call was given to write or run, where its line does not say it all; what an edit replaced is gone.
  return Object.entries(argumentsOf(item) ?? { text: item.text })
    .filter(([name]) => !/^old|^search$|^before$/i.test(name))
    .flatMap(([, value]) => stringsIn(value))
    .filter((text) => text.includes('\n') || text.length > LINE_CHARACTERS)
    .join('\n')
}

/** What the model asked for in text: the line that its last fenced block begins with, or the last line that says something. */
function actionBefore(items: readonly Item[], index: number): string {
  const before = items[index - 1]
  const text = before?.kind === 'assistant' ? before.text : ''
  const block = /```\w*\n([^\n]+)\n(?:(?!```)[^])*```\s*$/.exec(text.slice(-4_000))?.[1]
  const lines = (block ?? text).split('\n')
  return cutHead(lines.findLast((line) => /[\p{L}\p{N}]/u.test(line))?.trim() ?? 'result', LABEL_CHARACTERS)
}

/** Model calls since each item: how many assistant turns begin after it. */
function agesOf(items: readonly Item[]): number[] {
  const ages: number[] = Array.from({ length: items.length })
  let age = 0
  for (let i = items.length - 1; i >= 0; i--) {
    ages[i] = age
    if (items[i]!.role === 'assistant' && items[i - 1]?.role !== 'assistant') age++
  }
  return ages
}

/**
 * The passages that fit into a budget, best worth per token first, under the labels of their sources and in order: newer before older, what a newer
 * copy shows counting nothing. Deterministic; n log n in the number of lines.
 */
export function excerptsFrom(
  sources: readonly ExcerptSource[],
  budget: number,
): { readonly text: string; readonly stored: ReadonlyMap<Handle, StoredText> } {
  const chosen: Passage[][] = sources.map(() => [])
  let left = budget
  for (const { source, from, to, cost } of candidatesIn(sources)) {
    const { label, tokensPerCharacter } = sources[source]!
    const picked = chosen[source]!
    const price = picked.length > 0 ? cost : cost + label.length * Math.max(0.3, tokensPerCharacter)
    if (price > left) continue
    left -= price
    picked.push({ from, to })
    if (left < 1) break
  }
  const shownOf = (wanted: boolean): string[] =>
    sources.flatMap((source, s) =>
      chosen[s]!.length === 0 || (source.isChanged === true) !== wanted ? [] : excerptOf(source, chosen[s]!),
    )
  const shown = [...shownOf(true), ...shownOf(false)]
  const stored = sources.flatMap(({ stored: one }, s) => (one === undefined || chosen[s]!.length === 0 ? [] : [one]))
  const heading =
    'Excerpts, verbatim, files that were changed first, each in order (» written or run, « result, … left out):'
  return { text: shown.length === 0 ? '' : [heading, ...shown].join('\n'), stored: new Map(stored) }
}

function candidatesIn(sources: readonly ExcerptSource[]): Candidate[] {
  const candidates: Candidate[] = []
  const taken = new Set<string>()
  for (let s = sources.length - 1; s >= 0; s--) {
    const { lines, weight, age, tokensPerCharacter, isNoise } = sources[s]!
    const recency = weight / (1 + age / HALF_AGE)
    const worths = new Float64Array(lines.length)
    for (let l = lines.length - 1; l >= 0; l--) {
      const key = lineKey(lines[l]!)
      if (key === '' || lines[l]!.length > MAX_LENGTH || taken.has(key) || isNoise(lines[l]!)) continue
      taken.add(key)
      worths[l] = recency * (key.length < TELLING ? SHORT_WORTH : 1)
    }
    for (const passage of passagesOf(lines)) {
      const { from, to } = trimmed(passage, worths, lines)
      let worth = 0
      let characters = 0
      for (let l = from; l < to; l++) {
        worth += worths[l]!
        characters += Math.min(MAX_LENGTH, lines[l]!.length) + 1
      }
      const cost = characters * tokensPerCharacter
      if (
        worth > 0 &&
        (to - from > FEWEST || lines.length <= WHOLE || lines.slice(from, to).some((line) => TELLS.test(line)))
      )
        candidates.push({ source: s, from, to, cost, worth: worth / cost })
    }
  }
  // Equal worth: the newer passage first, so that the order never depends on the engine's sort.
  return candidates.sort((a, b) => b.worth - a.worth || b.source - a.source || b.from - a.from)
}

/** Lines at either end of a result that may be what its tool prints every time, looked for in so many characters. */
const EDGE = 8
const EDGE_CHARACTERS = 2_000
/** A tool has to print a line this often, in this share of its results, to be known for it. */
const LEAST = 5
const SHARE = 0.3
/** What we or a client put where something was left out or stands behind a handle. */
const OWN_MARK =
  /^\s*(?:…|\.\.\.|\[[^\]]*\b(?:omitted|left out|truncated|taken out of view|more lines|stored as)\b[^\]]*\]|.*\bart_[a-z0-9]{20,}\b.*)\s*$/

/** Finds lines that are no content: marks of earlier cuts, and what a tool prints around every result (ids, times, headings, reminders). */
function noiseIn(items: readonly Item[]): (line: string) => boolean {
  const printed = new Set<string>()
  const all = items.filter(({ kind }) => kind === 'result')
  for (const tool of new Set(all.map(({ toolName }) => toolName))) {
    const results = all.filter(({ toolName }) => toolName === tool)
    const times = new Map<string, number>()
    for (const { text } of results) {
      const edges = [
        ...text.slice(0, EDGE_CHARACTERS).split('\n').slice(0, EDGE),
        ...text.slice(-EDGE_CHARACTERS).split('\n').slice(-EDGE),
      ]
      for (const shape of new Set(edges.map(shapeOf))) times.set(shape, (times.get(shape) ?? 0) + 1)
    }
    for (const [shape, count] of times)
      if (shape.length >= 6 && count >= LEAST && count >= SHARE * results.length) printed.add(shape)
  }
  return (line) => OWN_MARK.test(line) || printed.has(shapeOf(line))
}

/** Ids, counts and times differ from result to result. */
const shapeOf = (line: string): string =>
  line
    .slice(0, 200)
    .trim()
    .replace(/\b[0-9a-f]*\d[0-9a-f.]*\b/gi, '#')

/** Without the lines at both ends that add nothing, as long as a few are left: a line alone says little. */
function trimmed({ from, to }: Passage, worths: Float64Array, lines: readonly string[]): Passage {
  let [first, last] = [from, to]
  while (first < last && worths[first] === 0) first++
  while (last > first && worths[last - 1] === 0) last--
  if (first === last) return { from: first, to: last }
  const says = (l: number): number => (isBlank(lines[l]!) ? 0 : 1)
  let telling = 0
  for (let l = first; l < last && telling < FEWEST; l++) telling += says(l)
  while (telling < FEWEST && (last < to || first > from)) {
    if (last < to) telling += says(last++)
    if (telling < FEWEST && first > from) telling += says(--first)
  }
  return { from: first, to: last }
}

/** Chosen passages in order under their label, with a mark between them where something was left out. */
function excerptOf({ label, lines, isNoise }: ExcerptSource, passages: readonly Passage[]): string {
  const runs: Passage[] = []
  for (const { from, to } of passages.toSorted((a, b) => a.from - b.from)) {
    const last = runs.at(-1)
    if (last !== undefined && from - last.to <= CLOSE_GAP) runs[runs.length - 1] = { from: last.from, to }
    else runs.push({ from, to })
  }
  const shown = runs.map(({ from, to }) =>
    lines
      .slice(from, to)
      .filter((line) => !isNoise(line))
      .map((line) => (line.length > MAX_LENGTH ? `${cutHead(line, MAX_LENGTH)}…` : line))
      .join('\n'),
  )
  const count = runs.reduce((sum, { from, to }) => sum + to - from, 0)
  return `${label}${count < lines.length ? ` (${count} of ${lines.length} lines)` : ''}\n${shown.join('\n…\n')}`
}

/** A passage of fewer lines seldom makes sense alone. */
const FEWEST_LINES = 3
/** What ends within this many lines stays whole: most functions and paragraphs do. */
const WHOLE = 24
/** Lines without any structure come in groups of this size. */
const PLAIN = 12

/** Cuts a text into passages: where a block begins behind a blank line, no deeper than the one before it, and long blocks at their blank lines. */
function passagesOf(lines: readonly string[]): Passage[] {
  const passages: Passage[] = []
  let from = 0
  for (let i = 1; i <= lines.length; i++) {
    if (i < lines.length && (i - from < FEWEST_LINES || !beginsBlock(lines, from, i))) continue
    while (i - from > WHOLE) {
      const blank = lines.slice(from + FEWEST_LINES, from + WHOLE).findLastIndex(isBlank)
      const to = blank < 0 ? from + PLAIN : from + FEWEST_LINES + blank + 1
      passages.push({ from, to })
      from = to
    }
    passages.push({ from, to: i })
    from = i
  }
  return passages
}

const beginsBlock = (lines: readonly string[], from: number, i: number): boolean =>
  isBlank(lines[i - 1]!) && !isBlank(lines[i]!) && depthOf(lines[i]!) <= depthOf(lines[from]!)

/** File listings number their lines; the number is not part of what is quoted. */
const bare = (line: string): string => line.replace(/^\s*\d+[→\t:|]/, '')
const isBlank = (line: string): boolean => bare(line).trim() === ''
const depthOf = (line: string): number => /^\s*/.exec(bare(line))![0].length

/** What makes two lines the same, wherever they are indented or numbered. */
export const lineKey = (line: string): string => bare(line).trim()
