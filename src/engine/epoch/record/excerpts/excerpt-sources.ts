import type { Item } from '../../../../core/item.ts'
import { stringsIn } from '../../../../core/quotes.ts'
import { cutHead } from '../../../intake/text.ts'
import type { Draft } from '../../cascade/draft.ts'
import type { CallReader } from '../arguments.ts'
import type { ExcerptSource } from './excerpts.ts'
import { lineKey } from '../line-key.ts'
import { noiseIn } from '../noise.ts'
import { keepsPlan } from '../plan-state.ts'
import { isReplaced, staleLines } from '../stale.ts'

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
      ...(isStale !== undefined && { isStale }),
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
