import { looksLikeLogLine } from '../logs/log-line.ts'
import { sanitise } from '../sanitise.ts'
import { countLines } from '../text.ts'
import type { ContentKind } from '../types.ts'

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

export function takeSample(text: string, from: number): Sample {
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

export const detectMarkup: Detector = ({ text, from, lines }) => {
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
export const detectDelimited: Detector = ({ text, from, totalLines }) => {
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
export const detectDiff: Detector = (sample) => {
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

export const detectStackTrace: Detector = (sample) => {
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

export const detectTestOutput: Detector = (sample) => {
  let best: Detection | undefined
  for (const { format, strong } of TEST_SIGNS) {
    const hits = sample.lines.filter((line) => strong.test(line)).length
    if (hits < 2 && !(hits === 1 && sample.lines.length < 10)) continue
    const confidence = Math.min(1, 0.55 + hits / sample.lines.length)
    if (best === undefined || confidence > best.confidence) best = { kind: 'test-output', format, confidence }
  }
  return best
}

export const detectLog: Detector = (sample) => {
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
export const detectTable: Detector = (sample) => {
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

export const detectCode: Detector = (sample) => {
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

export const detectMarkdown: Detector = (sample) => {
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
