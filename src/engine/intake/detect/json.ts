import { findRecords, type FoundRecords, type RecordList } from '../json/records.ts'
import {
  eachItem,
  eachEntry,
  isArrayAt,
  isObjectAt,
  skipSpace,
  skipValue,
  type Span,
} from '../../../core/json/lexer.ts'
import { isRecord, parsedJson } from '../../../core/values.ts'
import type { ContentKind } from '../types.ts'

/** What is known about JSON text after one pass over its spans. */
export interface JsonFound {
  readonly kind: ContentKind
  readonly format?: string
  readonly root: Span
  readonly list?: RecordList
  readonly items?: number
}

const SAMPLE_RECORDS = 20
const MAX_SAMPLE_CHARS = 500_000

/** Undefined when the text (from `from`) is not one JSON value. */
export function detectJson(text: string, from: number): JsonFound | undefined {
  const start = skipSpace(text, from)
  const first = text.charCodeAt(start)
  const container = first === 91 || first === 123
  if (!container && !(first === 34 && text.length - start > 1)) return undefined
  const found = findRecords(text, from)
  if (found === undefined) return undefined
  const { root } = found
  if (!container) return isString(text, root) ? { kind: 'json-value', root } : undefined
  if (!opensLikeJson(text, root)) return undefined
  const special = specialKind(text, found)
  const list = special?.list ?? found.list
  const fallback: ContentKind = isArrayAt(text, root.start) ? 'json-array' : 'json-object'
  const items = list?.count ?? countEntries(text, root)
  return { kind: special?.kind ?? fallback, format: special?.format, root, list, items }
}

function isString(text: string, { start, end }: Span): boolean {
  return typeof parsedJson(text.slice(start, end)) === 'string'
}

/** "[main] started" is balanced too; JSON has a value after its first bracket. */
function opensLikeJson(text: string, root: Span): boolean {
  const at = skipSpace(text, root.start + 1)
  if (isObjectAt(text, root.start)) return text[at] === '"' || text[at] === '}'
  if (!/["{[\]\d\-tfn]/.test(text[at] ?? '')) return false
  if (/["{[\]]/.test(text[at]!)) return true
  const end = skipValue(text, at)
  return end > at && end - at < 64 && /^(?:true|false|null|-?\d[\d.eE+-]*)$/.test(text.slice(at, end))
}

function countEntries(text: string, root: Span): number {
  let count = 0
  if (isArrayAt(text, root.start)) eachItem(text, root.start, () => void count++)
  else eachEntry(text, root.start, () => void count++)
  return count
}

interface Special {
  readonly kind: ContentKind
  readonly format: string
  readonly list?: RecordList
}

/** Looks at the first records: series and log entries have views of their own. */
function specialKind(text: string, { list, singles }: FoundRecords): Special | undefined {
  for (const candidate of list === undefined ? singles : [list, ...singles]) {
    const special = kindOfRecords(sampleRecords(text, candidate))
    if (special !== undefined) return { ...special, list: candidate }
  }
  return undefined
}

function sampleRecords(text: string, list: RecordList): Record<string, unknown>[] {
  const out: Record<string, unknown>[] = []
  const take = (start: number, end: number): boolean => {
    if (end - start < MAX_SAMPLE_CHARS) {
      const value = parsedJson(text.slice(start, end))
      if (value === undefined) return false
      if (isRecord(value)) out.push(value)
    }
    return out.length < SAMPLE_RECORDS
  }
  if (list.form === 'array') eachItem(text, list.span.start, (start, end, index) => index < 200 && take(start, end))
  else eachEntry(text, list.span.start, (entry, index) => index < 200 && take(entry.start, entry.end))
  return out
}

/** Kinds by what a record of them holds; the first that most of the sample satisfies. */
const SIGNS: readonly (readonly [
  kind: ContentKind,
  format: string,
  test: (record: Record<string, unknown>) => boolean,
])[] = [
  [
    'time-series',
    'prometheus',
    (r) => isRecord(r['metric']) && (Array.isArray(r['values']) || Array.isArray(r['value'])),
  ],
  ['time-series', 'cloud-monitoring', (r) => Array.isArray(r['points']) && has(r, 'metric', 'resource')],
  ['log', 'entries', (r) => has(r, 'severity', 'level', 'log_level', 'levelname') && has(r, ...LOG_TEXT)],
]

export const LOG_TIME = 'timestamp time ts @timestamp datetime receiveTimestamp date'.split(' ')
export const LOG_TEXT = 'message msg textPayload jsonPayload protoPayload payload text event log body'.split(' ')

const has = (record: Record<string, unknown>, ...keys: readonly string[]): boolean =>
  keys.some((key) => Object.hasOwn(record, key))

export function kindOfRecords(records: readonly Record<string, unknown>[]): Special | undefined {
  if (records.length === 0) return undefined
  for (const [kind, format, test] of SIGNS) {
    const hits = records.filter(test).length
    if (hits > 0 && hits >= records.length * 0.6) return { kind, format }
  }
  return undefined
}

/** Newline-delimited JSON: nearly every line is an object of its own. */
export function looksLikeJsonLines(lines: readonly string[]): boolean {
  if (lines.length < 2) return false
  const objects = lines.filter((line) => /^\s*\{"/.test(line) && /[}\]]\s*$|.{1900}/.test(line)).length
  return objects >= lines.length * 0.8
}

const MAX_JSON_LINE_SAMPLE = 40

/** Records of the first JSON lines, for telling logs and spans from plain records. */
export function sampleJsonLines(lines: readonly string[]): Record<string, unknown>[] {
  return lines.slice(0, MAX_JSON_LINE_SAMPLE).map(parsedJson).filter(isRecord)
}
