import {
  detectDelimited,
  detectCode,
  detectDiff,
  detectLog,
  detectMarkdown,
  detectStackTrace,
  detectTable,
  detectTestOutput,
  detectMarkup,
  takeSample,
  type Detection,
  type Detector,
} from './detect/text.ts'
import { detectJson, kindOfRecords, looksLikeJsonLines, sampleJsonLines, type JsonFound } from './detect/json.ts'
import { countLines } from './text.ts'
import type { Classified, ContentKind } from './types.ts'
import { isObjectAt, rootSpan } from '../../core/json/lexer.ts'

/** What a tool's output is. One pass over the text for its size, one over its spans if it is JSON; no regular expression sees more than a sample. */
export const classify = (input: string | Uint8Array): Classified => inspect(input).classified

/** A classified input with what was learned on the way, so that showing it needs no second look. */
export interface Inspected {
  readonly source: Source
  readonly classified: Classified
  readonly json?: JsonFound
}

/** In order: the first that is sure wins, so the strict ones come first. */
const DETECTORS: readonly Detector[] = [
  detectMarkup,
  detectDiff,
  detectTestOutput,
  detectStackTrace,
  detectDelimited,
  detectLog,
  detectTable,
  detectMarkdown,
  detectCode,
]

export function inspect(input: string | Uint8Array): Inspected {
  const source = readSource(input)
  if (source.encoding === 'binary') {
    const { format, mime, bytes } = source
    const size = { encoding: 'binary' as const, bytes, chars: 0, lines: 0 }
    return { source, classified: { kind: 'binary', format, confidence: 1, mime, preamble: 0, ...size } }
  }
  const { text, bytes } = source
  const size = { encoding: 'utf-8' as const, bytes, chars: text.length, lines: countLines(text) }
  if (text.trim() === '') {
    return { source, classified: { kind: 'empty', confidence: 1, mime: 'text/plain', preamble: 0, ...size } }
  }
  const whole = inspectFrom(text, 0)
  const preamble = whole.kind === 'plain' || whole.kind === 'ndjson' || whole.confidence < 1 ? preambleOf(text) : 0
  const found = preamble > 0 && preamble < text.length ? preferBody(whole, inspectFrom(text, preamble)) : whole
  const { json, kind, format, confidence, items } = found
  return {
    source,
    classified: {
      kind,
      format,
      confidence,
      mime: found !== whole && preamble > 0 ? 'text/plain' : mimeOf(kind),
      items,
      preamble: found === whole ? 0 : preamble,
      ...size,
    },
    json,
  }
}

interface Found extends Detection {
  readonly json?: JsonFound
}

/** Past a header the content counts, unless it says less than the whole did. */
const preferBody = (whole: Found, body: Found): Found =>
  body.kind === 'plain' && whole.kind !== 'plain' && whole.kind !== 'ndjson' ? whole : body

function inspectFrom(text: string, from: number): Found {
  const json = detectJson(text, from)
  if (json !== undefined) {
    const { kind, format, items } = json
    return { kind, confidence: 1, json, format, items }
  }
  const sample = takeSample(text, from)
  if (looksLikeJsonLines(sample.lines)) {
    const special = kindOfRecords(sampleJsonLines(sample.lines))
    if (special?.kind === 'log') return { kind: 'log', format: 'json-lines', confidence: 1 }
    return { kind: 'ndjson', confidence: 0.95, format: special?.format }
  }
  if (isBase64(text, from)) return { kind: 'base64', confidence: 0.9 }
  let best: Detection | undefined
  for (const detect of DETECTORS) {
    const found = detect(sample)
    if (found === undefined) continue
    if (found.confidence >= 0.9) return found
    if (best === undefined || found.confidence > best.confidence + 0.1) best = found
  }
  if (best !== undefined) return best
  const broken = /^\s*[[{]\s*["{[]/.test(text.slice(from, from + 100))
  return { kind: 'plain', confidence: 0.5, format: broken ? 'broken-json' : undefined }
}

/** One long run of the alphabet, perhaps in lines of equal length; a data URL's head is allowed. */
function isBase64(text: string, from: number): boolean {
  if (text.length - from < 400) return false
  const head = text.slice(from, from + 4_000).replace(/^data:[\w/+.-]{1,60};base64,/, '')
  const tail = text.slice(-400).trimEnd()
  if (!/^[A-Za-z0-9+/_\-\s]+={0,2}\s*$/.test(head) || !/^[A-Za-z0-9+/_\-\s]+={0,2}$/.test(tail)) return false
  const words = head.trim().split(/\s+/)
  return (
    words.every((word, i) => word.length >= 60 || i === words.length - 1) && /[A-Z]/.test(head) && /[a-z]/.test(head)
  )
}

const MIMES: Partial<Record<ContentKind, string>> = {
  'json-array': 'application/json',
  'json-object': 'application/json',
  'json-value': 'application/json',
  ndjson: 'application/x-ndjson',
  csv: 'text/csv',
  tsv: 'text/tab-separated-values',
  markdown: 'text/markdown',
  diff: 'text/x-diff',
  html: 'text/html',
  xml: 'application/xml',
}

const mimeOf = (kind: ContentKind): string => MIMES[kind] ?? 'text/plain'

/** Text out of what a tool returned: bytes are decoded when they are UTF-8, else they stay binary. */
export type Source =
  | { readonly encoding: 'utf-8'; readonly text: string; readonly bytes: number }
  | {
      readonly encoding: 'binary'
      readonly data: Uint8Array
      readonly bytes: number
      readonly format: string
      readonly mime: string
    }

const MAGIC: readonly {
  readonly bytes: readonly number[]
  readonly at?: number
  readonly format: string
  readonly mime: string
}[] = [
  { bytes: [0x89, 0x50, 0x4e, 0x47], format: 'png', mime: 'image/png' },
  { bytes: [0xff, 0xd8, 0xff], format: 'jpeg', mime: 'image/jpeg' },
  { bytes: [0x47, 0x49, 0x46, 0x38], format: 'gif', mime: 'image/gif' },
  { bytes: [0x57, 0x45, 0x42, 0x50], at: 8, format: 'webp', mime: 'image/webp' },
  { bytes: [0x25, 0x50, 0x44, 0x46], format: 'pdf', mime: 'application/pdf' },
  { bytes: [0x1f, 0x8b], format: 'gzip', mime: 'application/gzip' },
  { bytes: [0x50, 0x4b, 0x03, 0x04], format: 'zip', mime: 'application/zip' },
  { bytes: [0x28, 0xb5, 0x2f, 0xfd], format: 'zstd', mime: 'application/zstd' },
  { bytes: [0x7f, 0x45, 0x4c, 0x46], format: 'elf', mime: 'application/x-elf' },
  { bytes: [0x00, 0x61, 0x73, 0x6d], format: 'wasm', mime: 'application/wasm' },
  { bytes: [0x53, 0x51, 0x4c, 0x69, 0x74, 0x65], format: 'sqlite', mime: 'application/vnd.sqlite3' },
  { bytes: [0x50, 0x41, 0x52, 0x31], format: 'parquet', mime: 'application/vnd.apache.parquet' },
]

function readSource(input: string | Uint8Array): Source {
  if (typeof input === 'string') return { encoding: 'utf-8', text: withoutMark(input), bytes: Buffer.byteLength(input) }
  const magic = magicOf(input)
  if (magic === undefined && !hasNul(input)) {
    try {
      const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(input)
      return { encoding: 'utf-8', text, bytes: input.byteLength }
    } catch {
      // Not UTF-8: described instead of decoded, since a guess would show text that is not there.
    }
  }
  return {
    encoding: 'binary',
    data: input,
    bytes: input.byteLength,
    ...(magic ?? { format: 'unknown', mime: 'application/octet-stream' }),
  }
}

/** A byte order mark would hide the first brace from every detector. */
const withoutMark = (text: string): string => (text.charCodeAt(0) === 0xfeff ? text.slice(1) : text)

const hasNul = (data: Uint8Array): boolean => data.subarray(0, 65_536).includes(0)

export function magicOf(data: Uint8Array): { format: string; mime: string } | undefined {
  const found = MAGIC.find(({ bytes, at = 0 }) => bytes.every((byte, i) => data[at + i] === byte))
  return found === undefined ? undefined : { format: found.format, mime: found.mime }
}

/**
 * Length of what stands before the content proper: the status lines of a command runner, or a tool's own JSON header. It is
 * short, it often holds the exit code, and it hides the kind of what follows.
 */
const STATUS_LINE =
  /^(?:Exit code:? -?\d+|exit status \d+|Chunk ID: |Wall time: |Process (?:exited|running)|Original token count: |Total output lines: |Warning: truncated output|Output:|stdout:|stderr:|<retrieval_status>|Command: |Command exited)/
const MAX_LINES = 12
const MAX_HEADER_CHARS = 4_000

function preambleOf(text: string): number {
  let at = 0
  for (let lines = 0; lines < MAX_LINES; lines++) {
    let end = text.indexOf('\n', at)
    if (end < 0) return lines === 0 ? 0 : at
    if (end - at > MAX_HEADER_CHARS) return at
    const line = text.slice(at, end)
    const blank = line.trim() === ''
    if (!STATUS_LINE.test(line) && !(blank && at > 0) && !isToolHeader(text, at, end)) return at
    at = end + 1
  }
  return at
}

/** A JSON object on a line of its own that names a tool or a status, with something else than JSON lines after it. */
function isToolHeader(text: string, at: number, end: number): boolean {
  if (!isObjectAt(text, at) || rootSpan(text.slice(at, end)) === undefined) return false
  const line = text.slice(at, end)
  return /"(?:toolset_name|tool_name|schema_version|return_code)"/.test(line)
}
