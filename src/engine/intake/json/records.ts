import {
  eachEntry,
  eachItem,
  isArrayAt,
  isObjectAt,
  keyText,
  rootSpan,
  skipSpace,
  type EntrySpan,
  type Span,
} from '../../../core/json/lexer.ts'

/** The list that a JSON text is about: an array, or an object used as a map, at the root or inside an envelope. */
export interface RecordList {
  readonly root: Span
  /** Where the list stands: `[]` for the root, `['data','result']` inside an envelope. */
  readonly path: readonly string[]
  readonly span: Span
  readonly form: 'array' | 'map'
  readonly count: number
}

const MAX_DESCENT = 5
/** An object becomes a map of records from this many alike values. */
const MAP_ENTRIES = 20
const SHORT_CHARS = 2_000
/** A single item above this is looked at by span only: parsing it would hold several times its size. */
const MAX_ITEM_CHARS = 8_388_608

export interface FoundRecords {
  readonly root: Span
  /** Absent for a scalar or a plain object. */
  readonly list?: RecordList
  /** Lists of one on the way: envelopes, unless their only item is a record of a known kind. */
  readonly singles: readonly RecordList[]
}

/** Undefined when the text is not one balanced JSON value. */
export function findRecords(text: string, from = 0): FoundRecords | undefined {
  const start = skipSpace(text, from)
  if (!isContainer(text, start)) {
    const root = rootSpan(text, from)
    return root === undefined ? undefined : { root, singles: [] }
  }
  const singles: RecordList[] = []
  const path: string[] = []
  let root: Span | undefined
  let at = start
  for (let depth = 0; depth <= MAX_DESCENT; depth++) {
    const outline = isArrayAt(text, at) ? arrayOutline(text, at) : objectOutline(text, at)
    if (outline === undefined) return undefined
    // The first outline is the whole value: what stands behind it decides whether this is one value.
    if (root === undefined) {
      if (skipSpace(text, outline.end) < text.length) return undefined
      root = { start, end: outline.end }
    }
    const span = { start: at, end: outline.end }
    if (outline.form !== undefined)
      return { root, singles, list: { root, path, span, form: outline.form, count: outline.count } }
    const { inner } = outline
    if (inner?.name === '[0]') singles.push({ root, path: [...path], span, form: 'array', count: 1 })
    const size = root.end - root.start
    // In a short text the envelope weighs as much as the list.
    const enough = size > SHORT_CHARS ? size / 2 : size / 4
    if (inner === undefined || inner.end - inner.start < enough) return { root, singles }
    path.push(inner.name)
    at = inner.start
  }
  return root === undefined ? undefined : { root, singles }
}

interface Outline {
  readonly end: number
  readonly count: number
  /** Set when this is the list. */
  readonly form?: 'array' | 'map'
  /** Where the list may be, when it is not this. */
  readonly inner?: Span & { readonly name: string }
}

function arrayOutline(text: string, at: number): Outline | undefined {
  let count = 0
  let first: Span = { start: at, end: at }
  const end = eachItem(text, at, (from, to) => {
    if (count++ === 0) first = { start: from, end: to }
  })
  if (end < 0) return undefined
  // A list of one is an envelope.
  if (count === 1 && isContainer(text, first.start)) return { end, count, inner: { ...first, name: '[0]' } }
  return { end, count, form: 'array' }
}

const isContainer = (text: string, at: number): boolean => isArrayAt(text, at) || isObjectAt(text, at)

function objectOutline(text: string, at: number): Outline | undefined {
  let count = 0
  let containers = 0
  let largest: EntrySpan | undefined
  const end = eachEntry(text, at, (entry) => {
    count++
    if (!isContainer(text, entry.start)) return
    containers++
    if (largest === undefined || entry.end - entry.start > largest.end - largest.start) largest = entry
  })
  if (end < 0) return undefined
  const found: EntrySpan | undefined = largest
  const share = found === undefined ? 0 : (found.end - found.start) / (end - at)
  if (count >= MAP_ENTRIES && containers >= count * 0.9 && share < 0.5) return { end, count, form: 'map' }
  return {
    end,
    count,
    inner: found === undefined ? undefined : { start: found.start, end: found.end, name: keyText(text, found) },
  }
}

export interface RecordVisitor {
  /** `undefined` for an item that is too large to parse. Return false to stop. */
  (value: unknown, start: number, end: number, index: number, key?: string): boolean | void
}

/** Parses the list item by item, so that only one is held. Returns false when an item is not valid JSON. */
export function eachRecord(text: string, list: RecordList, visit: RecordVisitor): boolean {
  let valid = true
  const take = (span: Span, index: number, key?: string): boolean | void => {
    const value = parseSpan(text, span)
    if (value === INVALID) return (valid = false)
    return visit(value, span.start, span.end, index, key)
  }
  if (list.form === 'map') eachEntry(text, list.span.start, (entry, index) => take(entry, index, keyText(text, entry)))
  else eachItem(text, list.span.start, (start, end, index) => take({ start, end }, index))
  return valid
}

const INVALID = Symbol('invalid')

function parseSpan(text: string, { start, end }: Span): unknown {
  if (end - start > MAX_ITEM_CHARS) return undefined
  try {
    return JSON.parse(text.slice(start, end))
  } catch {
    return INVALID
  }
}

/** One JSON object per line. Spans only; a line that is no object ends nothing but is not counted. */
export function eachJsonLine(text: string, from: number, visit: RecordVisitor): { records: number; others: number } {
  let records = 0
  let others = 0
  let at = from
  while (at < text.length) {
    let end = text.indexOf('\n', at)
    if (end < 0) end = text.length
    const start = skipSpace(text, at)
    if (start < end) {
      const value = isContainer(text, start) ? parseSpan(text, { start, end }) : INVALID
      if (value === INVALID) others++
      else if (visit(value, start, end, records++) === false) break
    }
    at = end + 1
  }
  return { records, others }
}
