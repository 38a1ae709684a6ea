import type { Item } from '../../../core/item.ts'
import { stringsIn } from '../../../core/quotes.ts'
import { cutHead } from '../../intake/text.ts'
import type { Draft } from '../cascade/draft.ts'
import { fileNames, type CallReader } from './calls.ts'
import { lineKey, type ExcerptSource } from './excerpts.ts'
import { keepsPlan } from './facts.ts'

/** Results below this size are quoted without a handle: the handle would cost more than it could bring back. */
const HANDLE_FROM_CHARACTERS = 2_000
/** What the model wrote itself is needed again more often than what it read. */
const CALL_WEIGHT = 3
/** A shorter argument stands on the call's line. */
const LINE_CHARACTERS = 120
const LABEL_CHARACTERS = 240

export interface ItemSource extends ExcerptSource {
  readonly item: Item
}

export interface SourceReader {
  /** A folded item as a source of excerpts; undefined for what stands elsewhere in the record, and for what has no text. */
  sourceAt(index: number): ItemSource | undefined
  /** Keys of the lines that stand in view anyway when these items leave it. */
  shownWithout(folded: ReadonlySet<number>): ReadonlySet<string>
}

/** Reads a draft once, however many records are written from it. */
export function sourceReader(draft: Draft, textResults: ReadonlySet<Item>, calls: CallReader): SourceReader {
  const { items, turns, tokensOf } = draft
  const ages = agesOf(items)
  const callOf = new Map<number, Item>()
  for (const [call, result] of turns.answers) callOf.set(result, items[call]!)
  const isNoise = noiseIn(items)
  const staleFor = staleLines(items, calls)
  const sources = new Map<number, ItemSource | undefined>()

  function read(index: number): ItemSource | undefined {
    const item = items[index]!
    const text = excerptText(item, textResults, calls)
    if (text === '') return undefined
    const call = item.kind === 'call' ? item : callOf.get(index)
    // The plan stands above as it was last written; how it came about is of no use.
    if (call !== undefined && keepsPlan(call, calls)) return undefined
    const isStale = staleFor(index, call)
    return {
      item,
      label: textResults.has(item) ? `« ${actionBefore(items, index)}` : labelOf(draft, item, call, calls),
      lines: text.split('\n'),
      weight: item.kind === 'call' ? CALL_WEIGHT : 1,
      age: ages[index]!,
      tokensPerCharacter: Math.max(0.05, tokensOf(item) / Math.max(1, item.text.length)),
      isNoise,
      isStale,
    }
  }

  return {
    sourceAt(index) {
      if (!sources.has(index)) sources.set(index, read(index))
      return sources.get(index)
    },
    shownWithout(folded) {
      const shown = new Set<string>()
      for (const [index, item] of items.entries()) {
        // What the model said stands in the record, as far as it has room.
        if (folded.has(index) && item.kind !== 'assistant') continue
        for (const line of linesOf(item, calls)) shown.add(lineKey(line))
      }
      return shown
    },
  }
}

/** A handle is worth its tokens only where a tool of the request can open it. */
export const hasHandle = (draft: Draft, item: Item): boolean =>
  draft.readers.has('artifact_read') && item.text.length >= HANDLE_FROM_CHARACTERS

function excerptText(item: Item, textResults: ReadonlySet<Item>, calls: CallReader): string {
  if (item.kind === 'result' || item.kind === 'opaque' || textResults.has(item)) return item.text
  return item.kind === 'call' ? givenText(item, calls) : ''
}

/** What a call was given to write or run, where its line does not say it all; what an edit replaced is gone. */
function givenText(call: Item, calls: CallReader): string {
  const input = calls.argumentsOf(call)
  if (input === undefined) return call.text
  return Object.entries(input)
    .filter(([name]) => !isReplaced(name))
    .flatMap(([, value]) => stringsIn(value))
    .filter((text) => text.includes('\n') || text.length > LINE_CHARACTERS)
    .join('\n')
}

/** What the model asked for in text: the last line of it that says something. */
function actionBefore(items: readonly Item[], index: number): string {
  const said = items[index - 1]?.kind === 'assistant' ? items[index - 1]!.text : ''
  const line = said.split('\n').findLast((one) => /[\p{L}\p{N}]/u.test(one))
  return line === undefined ? 'result' : cutHead(line.trim(), LABEL_CHARACTERS)
}

function labelOf(draft: Draft, item: Item, call: Item | undefined, calls: CallReader): string {
  if (item.kind === 'call') return `» ${calls.callLine(item, LABEL_CHARACTERS)}`
  const about = call === undefined ? (item.toolName ?? 'result') : calls.callLine(call, LABEL_CHARACTERS)
  return `« ${about}${item.kind === 'result' && hasHandle(draft, item) ? ` ${draft.handleOf(item.text)}` : ''}`
}

function linesOf(item: Item, calls: CallReader): readonly string[] {
  if (item.kind === 'reasoning' || item.kind === 'media') return []
  const text = item.kind === 'call' ? stringsIn(calls.argumentsOf(item) ?? item.text).join('\n') : item.text
  return text.split('\n')
}

/** Model calls since each item: how many assistant turns begin after it. */
function agesOf(items: readonly Item[]): number[] {
  const ages: number[] = Array.from({ length: items.length })
  let age = 0
  for (let i = items.length - 1; i >= 0; i--) {
    ages[i] = age
    const begins = items[i]!.role === 'assistant' && items[i - 1]?.role !== 'assistant'
    if (begins) age++
  }
  return ages
}

/** Lines at either end of a result that may be what its tool prints every time. */
const EDGE = 8
/** A tool has to print a line this often, in this share of its results, to be known for it. */
const LEAST = 5
const SHARE = 0.3
/** What we or a client put where something was left out or stands behind a handle. */
const OWN_MARK =
  /^\s*(?:…|\.\.\.|\[[^\]]*\b(?:omitted|left out|truncated|taken out of view|more lines|stored as)\b[^\]]*\]|.*\bart_[a-z0-9]{20,}\b.*)\s*$/

/** Finds lines that are no content: marks of earlier cuts, and what a tool prints around every result (ids, times, headings, reminders). */
function noiseIn(items: readonly Item[]): (line: string) => boolean {
  const results = new Map<string, number>()
  const edges = new Map<string, number>()
  for (const item of items) {
    if (item.kind !== 'result') continue
    const tool = item.toolName ?? ''
    results.set(tool, (results.get(tool) ?? 0) + 1)
    for (const shape of new Set(edgeLines(item.text).map(shapeOf))) {
      if (shape.length < 6) continue
      const key = `${tool}\n${shape}`
      edges.set(key, (edges.get(key) ?? 0) + 1)
    }
  }
  const printed = new Set<string>()
  for (const [key, times] of edges) {
    const at = key.indexOf('\n')
    if (times >= LEAST && times >= SHARE * results.get(key.slice(0, at))!) printed.add(key.slice(at + 1))
  }
  return (line) => OWN_MARK.test(line) || printed.has(shapeOf(line))
}

function edgeLines(text: string): string[] {
  const lines = text.slice(0, 2_000).split('\n').slice(0, EDGE)
  return text.length <= 2_000
    ? [...lines, ...text.split('\n').slice(-EDGE)]
    : [...lines, ...text.slice(-2_000).split('\n').slice(-EDGE)]
}

/** Ids, counts and times differ from result to result. */
const shapeOf = (line: string): string =>
  line
    .slice(0, 200)
    .trim()
    .replace(/\b[0-9a-f]*\d[0-9a-f.]*\b/gi, '#')

const BEFORE = /^old|^search$|^before$/i
const AFTER = /^new|^replace|^after$/i

/**
 * Knows which lines later edits took out of the files that earlier texts show: whether an edit behind an item took a line, by its key, out of the file
 * that the item is about.
 */
function staleLines(
  items: readonly Item[],
  calls: CallReader,
): (index: number, call: Item | undefined) => ((key: string) => boolean) | undefined {
  /** By path: each line that an edit took out, and where the last such edit stands. */
  const gone = new Map<string, Map<string, number>>()
  const pathOf = (item: Item | undefined): string | undefined =>
    item?.kind === 'call' ? calls.pathOf(item) : undefined
  const nameOf = fileNames(items.map(pathOf).filter((path) => path !== undefined))
  for (const [index, item] of items.entries()) {
    const path = pathOf(item)
    if (path === undefined) continue
    const lines = takenOutBy(calls.argumentsOf(item))
    if (lines.size === 0) continue
    const known = gone.get(nameOf(path)) ?? new Map<string, number>()
    for (const key of lines) known.set(key, index)
    gone.set(nameOf(path), known)
  }
  return (index, call) => {
    const path = pathOf(call)
    const lines = path === undefined ? undefined : gone.get(nameOf(path))
    return lines === undefined ? undefined : (key) => (lines.get(key) ?? -1) > index
  }
}

/** Whether an argument of this name holds what an edit replaces. */
const isReplaced = (name: string): boolean => BEFORE.test(name)

function takenOutBy(input: Readonly<Record<string, unknown>> | undefined): ReadonlySet<string> {
  const entries = Object.entries(input ?? {})
  const textOf = (pattern: RegExp): unknown => entries.find(([key]) => pattern.test(key))?.[1]
  const [before, after] = [textOf(BEFORE), textOf(AFTER)]
  if (typeof before !== 'string' || typeof after !== 'string') return new Set()
  const lines = new Set(before.split('\n').map(lineKey))
  for (const line of after.split('\n')) lines.delete(lineKey(line))
  lines.delete('')
  return lines
}
