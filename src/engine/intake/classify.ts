import { detectDelimited } from './detect/delimited.ts'
import { detectJson, kindOfRecords, looksLikeJsonLines, sampleJsonLines, type JsonFound } from './detect/json.ts'
import {
  detectCode,
  detectDiff,
  detectLog,
  detectMarkdown,
  detectStackTrace,
  detectTable,
  detectTestOutput,
} from './detect/lines.ts'
import { detectMarkup } from './detect/markup.ts'
import { preambleOf } from './detect/preamble.ts'
import { takeSample, type Detection, type Detector } from './detect/sample.ts'
import { readSource, type Source } from './source.ts'
import { countLines } from './text.ts'
import type { Classified, ContentKind } from './types.ts'

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
    return {
      source,
      classified: {
        kind: 'binary',
        format,
        confidence: 1,
        mime,
        encoding: 'binary',
        bytes,
        chars: 0,
        lines: 0,
        preamble: 0,
      },
    }
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
      ...(format !== undefined && { format }),
      confidence,
      mime: found !== whole && preamble > 0 ? 'text/plain' : mimeOf(kind),
      ...(items !== undefined && { items }),
      preamble: found === whole ? 0 : preamble,
      ...size,
    },
    ...(json !== undefined && { json }),
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
    return { kind, confidence: 1, json, ...(format !== undefined && { format }), ...(items !== undefined && { items }) }
  }
  const sample = takeSample(text, from)
  if (looksLikeJsonLines(sample.lines)) {
    const special = kindOfRecords(sampleJsonLines(sample.lines))
    if (special?.kind === 'log') return { kind: 'log', format: 'json-lines', confidence: 1 }
    return { kind: 'ndjson', confidence: 0.95, ...(special !== undefined && { format: special.format }) }
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
  return { kind: 'plain', confidence: 0.5, ...(broken && { format: 'broken-json' }) }
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
