import { detectJson, kindOfRecords, looksLikeJsonLines, sampleJsonLines, type JsonFound } from './detect/json.ts'
import { countLines } from './text.ts'
import type { Classified, ContentKind } from './types.ts'
import { isObjectAt, rootSpan } from '../../core/json/lexer.ts'
import { looksLikeLogLine } from './logs/log-line.ts'
import { sanitise } from './sanitise.ts'

/** What a tool's output is. One pass over the text for its size, one over its spans if it is JSON; no regular expression sees more than a sample. */
export const classify = (input: string | Uint8Array): Classified => inspect(input).classified

/** A classified input with what was learned on the way, so that showing it needs no second look. */
export interface Inspected {
  readonly source: Source
  readonly classified: Classified
  readonly json?: JsonFound
}

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

/** Lines taken from the start, the middle and the end of a text: enough to tell its kind, whatever its size. */
export interface Sample {
  readonly text: string
  /** Not empty, without terminal codes, cut at 2,000 characters. */
  readonly lines: readonly string[]
  readonly from: number
  readonly totalLines: number
}

const HEAD_LINES = 150
const OTHER_LINES = 60
const LINE_CHARS = 2_000

function takeSample(text: string, from: number): Sample {
  const totalLines = countLines(text, from)
  const lines = linesFrom(text, from, HEAD_LINES)
  if (totalLines > HEAD_LINES + 2 * OTHER_LINES) {
    lines.push(...linesFrom(text, nextLine(text, from + Math.floor((text.length - from) / 2)), OTHER_LINES))
    lines.push(...linesFrom(text, nextLine(text, Math.max(from, text.length - 8_000)), OTHER_LINES))
  }
  return { text, lines, from, totalLines }
}

const nextLine = (text: string, at: number): number => {
  const newline = text.indexOf('\n', at)
  return newline < 0 ? text.length : newline + 1
}

function linesFrom(text: string, from: number, count: number): string[] {
  const out: string[] = []
  let start = from
  // Empty lines count as looked at, so that a text of newlines ends too.
  for (let looked = 0; start < text.length && looked < count * 3 && out.length < count; looked++) {
    let end = text.indexOf('\n', start)
    if (end < 0) end = text.length
    const line = sanitise(text.slice(start, Math.min(end, start + LINE_CHARS)))
    if (line.trim() !== '') out.push(line)
    start = end + 1
  }
  return out
}

/** Share of sample lines that satisfy a test. */
function share(sample: Sample, test: (line: string, index: number) => boolean): number {
  return sample.lines.length === 0 ? 0 : sample.lines.filter(test).length / sample.lines.length
}

export interface Detection {
  readonly kind: ContentKind
  readonly format?: string
  readonly confidence: number
  readonly items?: number
}

export type Detector = (sample: Sample) => Detection | undefined

const detectMarkup: Detector = ({ text, from, lines }) => {
  const head = text.slice(from, from + 20_000).trimStart()
  if (!head.startsWith('<')) return undefined
  if (/^(?:<!--[\s\S]{0,2000}?-->\s*)?(?:<!doctype html|<html[\s>])/i.test(head)) return { kind: 'html', confidence: 1 }
  if (/^<\?xml\b/.test(head)) {
    if (/<html[\s>]/i.test(head.slice(0, 2_000))) return { kind: 'html', format: 'xhtml', confidence: 1 }
    return { kind: 'xml', confidence: 1 }
  }
  const html = (
    head.match(/<\/?(?:div|span|p|a|ul|li|table|tr|td|h[1-6]|script|style|section|article|img|br)\b/gi) ?? []
  ).length
  const tags = (head.match(/<\/?[A-Za-z][\w:.-]*[\s/>]/g) ?? []).length
  if (html > 10 && html > tags * 0.5) return { kind: 'html', format: 'fragment', confidence: Math.min(1, html / tags) }
  const root = /^<([A-Za-z_][\w:.-]*)[\s/>]/.exec(head)
  if (root === null || tags < 3) return undefined
  const last = lines[lines.length - 1] ?? ''
  const closed = last.includes(`</${root[1]}`) || text.slice(-200).includes(`</${root[1]}`)
  return closed ? { kind: 'xml', confidence: 0.9 } : undefined
}

const CANDIDATES = [
  { delimiter: ',', kind: 'csv' },
  { delimiter: '\t', kind: 'tsv' },
  { delimiter: ';', kind: 'csv' },
] as const

/** Rows of one width. Quoted fields may hold delimiters and line breaks, so widths are counted outside quotes. */
const detectDelimited: Detector = ({ text, from, totalLines }) => {
  if (totalLines < 3) return undefined
  for (const { delimiter, kind } of CANDIDATES) {
    const widths = widthsOf(text.slice(from, from + 60_000), delimiter, from + 60_000 < text.length)
    if (widths.length < 3) continue
    const width = widths[0]!
    const same = widths.filter((each) => each === width).length / widths.length
    if (width < (delimiter === ',' ? 3 : 2) && !(width === 2 && same === 1 && widths.length > 20)) continue
    if (same >= 0.95 && looksLikeHeader(text.slice(from, from + 4_000), delimiter)) {
      return { kind, format: delimiter === ';' ? 'semicolon' : 'header', confidence: same }
    }
    if (same >= 0.98 && width >= 4)
      return { kind, format: delimiter === ';' ? 'semicolon' : 'no-header', confidence: same * 0.9 }
  }
  return undefined
}

function widthsOf(text: string, delimiter: string, cut: boolean): number[] {
  const code = delimiter.charCodeAt(0)
  const widths: number[] = []
  let width = 1
  let quoted = false
  let empty = true
  for (let i = 0; i < text.length && widths.length < 300; i++) {
    const at = text.charCodeAt(i)
    if (at === 34) quoted = !quoted
    else if (quoted) continue
    else if (at === code) width++
    else if (at === 10) {
      if (!empty) widths.push(width)
      width = 1
      empty = true
      continue
    }
    if (at > 32) empty = false
  }
  if (!cut && !empty) widths.push(width)
  return widths
}

/** Names, not numbers, all different, none of them a sentence. */
function looksLikeHeader(text: string, delimiter: string): boolean {
  const line = text.slice(0, Math.max(0, text.indexOf('\n'))).trim()
  const names = line.split(delimiter).map((name) => name.replace(/^"|"$/g, '').trim())
  if (names.some((name) => name === '' || name.length > 60 || /^-?[\d.]+$/.test(name) || /[{}<>]/.test(name)))
    return false
  return (
    new Set(names).size === names.length &&
    names.every((name) => /^[\p{L}_#$@%]/u.test(name) && name.split(' ').length <= 6)
  )
}

/** Unified diffs, with or without git's own lines. */
const detectDiff: Detector = (sample) => {
  const { lines } = sample
  const hunks = lines.filter((line) => /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/.test(line)).length
  const files = lines.filter((line) =>
    /^diff --git |^--- (?:a\/|\S+\t)|^\+\+\+ (?:b\/|\S+\t)|^Index: /.test(line),
  ).length
  if (hunks === 0 || files === 0) return undefined
  const body = share(sample, (line) =>
    /^[+\- @\\]|^(?:diff|index|new|deleted|similarity|rename|old|Binary|commit|Author|Date)/.test(line),
  )
  return body > 0.6
    ? { kind: 'diff', format: files > 0 && /diff --git/.test(lines.join('\n')) ? 'git' : 'unified', confidence: body }
    : undefined
}

/** First lines of a trace of calls, by language. */
const TRACE_SIGNS: readonly { readonly format: string; readonly test: RegExp }[] = [
  { format: 'python', test: /^Traceback \(most recent call last\)/ },
  {
    format: 'java',
    test: /^\s+at [\w.$]+(?:<init>)?\([\w.]*(?:\.java|\.kt|\.scala|Native Method|Unknown Source)?(?::\d+)?\)/,
  },
  {
    format: 'node',
    test: /^\s+at (?:async )?(?:.{1,120} \()?(?:file:\/\/|node:|\/|[A-Z]:\\|webpack).{1,300}:\d+:\d+\)?$/,
  },
  { format: 'go', test: /^goroutine \d+ \[[\w ,]+\]:/ },
  { format: 'rust', test: /^thread '.{0,80}' panicked at|^stack backtrace:/ },
  { format: 'dotnet', test: /^\s+at [\w.`<>[\],]+\(.{0,200}\)(?: in .{1,200}:line \d+)?$/ },
  { format: 'ruby', test: /^\s*(?:from )?\S+\.rb:\d+:in [`']/ },
]

const detectStackTrace: Detector = (sample) => {
  for (const { format, test } of TRACE_SIGNS) {
    const hits = sample.lines.filter((line) => test.test(line)).length
    const frames = share(sample, (line) => /^\s+at \S|^\s+File "|^\s+from \S+:\d+|^\t\S+\.go:\d+|^\s+\d+: /.test(line))
    const single = format === 'python' || format === 'go' || format === 'rust'
    if (hits >= (single ? 1 : 2) && frames > 0.3)
      return { kind: 'stack-trace', format, confidence: Math.min(1, 0.5 + frames / 2) }
  }
  return undefined
}

const TEST_SIGNS: readonly { readonly format: string; readonly strong: RegExp }[] = [
  {
    format: 'go-test',
    strong: /^(?:ok|FAIL|\?) {2,}?\t?\S+\s|^--- (?:PASS|FAIL|SKIP): |^=== (?:RUN|CONT|PAUSE) /,
  },
  {
    format: 'pytest',
    strong:
      /^=+ (?:test session starts|FAILURES|short test summary info|.*(?:passed|failed).*) =+$|^\S+\.py::\S+ (?:PASSED|FAILED|ERROR|SKIPPED)/,
  },
  { format: 'jest', strong: /^(?:\s*(?:PASS|FAIL) \S+\.[jt]sx?\b|Tests: +.*\d+ (?:passed|failed)|Test Suites: )/ },
  { format: 'vitest', strong: /^\s*(?:✓|✗|×|❯|↓) \S|^ *Test Files +\d|^ +RUN +v\d/ },
  { format: 'bun-test', strong: /^(?:\S+ \S*:? ?)?\((?:pass|fail|skip)\) / },
  { format: 'tap', strong: /^(?:not )?ok \d+(?: |$)|^TAP version \d/ },
  { format: 'cargo', strong: /^test \S+ \.\.\. (?:ok|FAILED|ignored)|^test result: |^running \d+ tests?/ },
  { format: 'mocha', strong: /^\s+\d+ (?:passing|failing|pending)\b/ },
  { format: 'dotnet', strong: /^\s*(?:Passed|Failed|Skipped)! +- Failed:|^\s+(?:Passed|Failed) \S+ \[\d/ },
  { format: 'maven', strong: /^(?:\[\w+\] )?Tests run: \d+, Failures: \d+/ },
]

const detectTestOutput: Detector = (sample) => {
  let best: Detection | undefined
  for (const { format, strong } of TEST_SIGNS) {
    const hits = sample.lines.filter((line) => strong.test(line)).length
    if (hits < 2 && !(hits === 1 && sample.lines.length < 10)) continue
    const confidence = Math.min(1, 0.55 + hits / sample.lines.length)
    if (best === undefined || confidence > best.confidence) best = { kind: 'test-output', format, confidence }
  }
  return best
}

const detectLog: Detector = (sample) => {
  const lines = share(sample, (line) => looksLikeLogLine(line) || JSON_LOG_LINE.test(line))
  if (lines < 0.5 || sample.totalLines < 3) return undefined
  return { kind: 'log', format: logFormat(sample), confidence: lines }
}

/** A structured logger's line between others. */
const JSON_LOG_LINE = /^\s*\{.*"(?:level|severity|levelname|lvl)"\s*:.*"(?:msg|message|time|ts|timestamp)"\s*:/

function logFormat(sample: Sample): string {
  const is = (test: RegExp): boolean => share(sample, (line) => test.test(line)) > 0.5
  if (is(/^<\d{1,3}>|^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d+ [\d:]+ \S+ /)) return 'syslog'
  if (is(/^\S+ \S+ \S+ \[[^\]]+\] "/)) return 'access'
  if (is(/^[IWEF]\d{4} /)) return 'klog'
  if (is(/(?:^|\s)level=\w+/)) return 'logfmt'
  if (is(/^\d{2}-\d{2} [\d:.]+ +\d+ +\d+ [VDIWEF] /)) return 'android'
  if (is(JSON_LOG_LINE)) return 'json-lines'
  if (is(/^\[?\d{4}-\d{2}-\d{2}/)) return 'timestamped'
  return 'lines'
}

/** Columns that line up under a header: kubectl, ps, lsof, netstat. */
const detectTable: Detector = (sample) => {
  const { lines } = sample
  const pipes = share(sample, (line) => /^\s*\|.*\|\s*$/.test(line))
  const rule = lines.slice(0, 60).some((line) => /^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)+\|?\s*$/.test(line))
  if (pipes > 0.8 && rule) return { kind: 'table', format: 'markdown', confidence: pipes }
  const bars = share(sample, (line) => line.split(' | ').length >= 3)
  if (bars > 0.8) return { kind: 'table', format: 'bars', confidence: bars }
  const header = lines.findIndex(isColumnHeader)
  if (header < 0 || header > 6) return undefined
  const words = lines[header]!.trim().split(/\s{2,}|\t| (?=[A-Z%])/).length
  const rows = share(sample, (line) => line.trim().split(/\s{2,}|\t|\s/).length >= Math.max(3, words - 2))
  const spaced = share(sample, (line) => /\S(?:\s{2,}|\t)\S/.test(line))
  return rows > 0.8 && spaced > 0.7 && lines.length >= 3
    ? { kind: 'table', format: 'columns', confidence: Math.min(rows, spaced) }
    : undefined
}

/** Names with two spaces or more between them, or capitals only. */
function isColumnHeader(line: string): boolean {
  if (/^\s*(?:[A-Z%][\w%/():.#-]*(?: [A-Za-z][\w-]*)?(?:\s{2,}|\t|$)){3,}/.test(line)) return true
  const words = line.trim().split(/\s+/)
  return words.length >= 4 && words.every((word) => /^[A-Z%#][A-Z0-9%/_:()-]*$/.test(word)) && /\S\s{2,}\S/.test(line)
}

const CODE_SIGNS: readonly { readonly format: string; readonly test: RegExp }[] = [
  {
    format: 'typescript',
    test: /^\s*(?:export |import .* from |interface \w+|type \w+ =|(?:public|private|readonly) \w+[:(]|const \w+(?:: [\w<>[\]]+)? = )/,
  },
  {
    format: 'python',
    test: /^\s*(?:def \w+\(.*\).*:|class \w+.*:|from \w[\w.]* import |import \w[\w.]*$|@\w+|elif .*:|except .*:)/,
  },
  {
    format: 'go',
    test: /^(?:func (?:\(\w+ \*?\w+\) )?\w+\(|package \w+$|import \(|type \w+ (?:struct|interface) \{|\t(?:if err != nil|return |defer |\w+(?:, \w+)? := ))/,
  },
  { format: 'rust', test: /^\s*(?:pub )?(?:fn \w+|impl\b|use \w+::|struct \w+|enum \w+|let mut |match \w+)/ },
  {
    format: 'java',
    test: /^\s*(?:public|private|protected) (?:static |final )*[\w<>[\]]+ \w+|^import [\w.]+;|^package [\w.]+;/,
  },
  {
    format: 'c',
    test: /^\s*#(?:include|define|ifdef|ifndef|endif)\b|^(?:static |extern )?(?:void|int|char|struct \w+|size_t|bool) \*?\w+\(/,
  },
  { format: 'shell', test: /^#!\/\S*sh\b|^\s*(?:if \[|fi$|done$|esac$|then$|echo "|export \w+=|function \w+)/ },
  {
    format: 'sql',
    test: /^\s*(?:SELECT|INSERT INTO|CREATE (?:TABLE|INDEX)|ALTER TABLE|UPDATE \w+ SET|FROM|WHERE|JOIN)\b/,
  },
  { format: 'css', test: /^\s*(?:[.#]?[\w-]+(?:[ ,>:.#][\w-]+)* \{|[\w-]+: [^;]+;)$/ },
]

/** Editors and readers put a line number in front of source lines. */
const LINE_NUMBER = /^\s*\d+(?:→|\t|: ?|\|)/

const detectCode: Detector = (sample) => {
  const numbered = share(sample, (line) => LINE_NUMBER.test(line)) > 0.8
  const lines = numbered ? sample.lines.map((line) => line.replace(LINE_NUMBER, '')) : sample.lines
  let best: Detection | undefined
  for (const { format, test } of CODE_SIGNS) {
    const hits = lines.filter((line) => test.test(line)).length
    const confidence = lines.length === 0 ? 0 : hits / lines.length
    if (hits >= 3 && confidence > 0.08 && confidence > (best?.confidence ?? 0))
      best = { kind: 'code', format, confidence }
  }
  if (best === undefined) return undefined
  const shape =
    lines.filter((line) => /[;{}()]\s*$|^\s*(?:\/\/|#|\*|\/\*)|^\s{2,}\S|:\s*$|,\s*$/.test(line)).length / lines.length
  const prose = lines.filter((line) => /^[A-Z][^{}();=]{60,}[.!?]$/.test(line.trim())).length / lines.length
  return shape > 0.55 && prose < 0.15
    ? { ...best, confidence: Math.min(0.9, 0.3 + shape / 2 + best.confidence / 2) }
    : undefined
}

const detectMarkdown: Detector = (sample) => {
  const { lines } = sample
  const headings = lines.filter((line) => /^#{1,6} \S/.test(line)).length
  const fences = lines.filter((line) => /^ {0,3}(?:`{3,}|~{3,})/.test(line)).length
  const marks = share(sample, (line) =>
    /^\s*(?:[-*+] \S|\d+\. \S|> |\|.*\|)|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\)|`[^`]+`/.test(line),
  )
  const front = lines[0] === '---' && lines.slice(1, 20).some((line) => line === '---')
  if (headings + fences === 0 && marks < 0.4) return undefined
  // Mostly a listing, but one inside a document.
  if (/^#{1,6} \S/.test(lines[0] ?? '') && fences > 0) return { kind: 'markdown', confidence: 0.86 }
  const score = Math.min(1, (headings + fences) / lines.length + marks + (front ? 0.3 : 0))
  return headings + fences >= 2 && score > 0.15
    ? { kind: 'markdown', confidence: Math.min(0.85, 0.45 + score / 2) }
    : undefined
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
