import { createSharedDrain, type LogGroup, type MessageShape, shapeReader } from '../logs/drain.ts'
import { LOG_TIME } from '../detect/json.ts'
import { Counter, Fields } from '../json/fields.ts'
import { type Rank, textView } from './text.ts'
import { AlikeMemo, DIGITS_ASIDE } from '../logs/alike-memo.ts'
import { digitsDecideLevel, parseLogLine } from '../logs/log-line.ts'
import type { LogLine, Severity } from '../logs/log-line.ts'
import { sanitise } from '../sanitise.ts'
import { isRecord } from '../../../core/values.ts'
import { payloadOf } from '../templates/logs.ts'
import { counted, grouped } from '../text.ts'
import type { BodyView, ViewInput } from '../types.ts'

const LEVEL_ORDER: readonly Severity[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'unknown']
const MAX_ERROR_GROUPS = 10
const MAX_PATTERNS = 15
const MAX_RARE = 6
const MAX_MEASURES = 8

/** What a line counts as: the same for all lines that differ from it only in their digits. */
interface Counted {
  readonly level: Severity
  readonly timed: boolean
  /** Of the message; undefined when there is none. */
  readonly shape: MessageShape | undefined
  /** Of an error: what makes it a new one. */
  readonly gist: string | undefined
}

const OPEN_BRACE = 123
/** Short for a log line: there are hardly more lines than this suggests. */
const LINE_CHARS = 64

/** Log lines: counts by level, time range, error groups and patterns by mined templates, then the lines themselves. */
export function logView(input: ViewInput): BodyView {
  const levels = new Counter(10)
  const shapeOf = shapeReader()
  const patterns = createSharedDrain(shapeOf)
  const errors = createSharedDrain(shapeOf)
  const gists = new Set<string>()
  const fields = new Fields()
  const alike = new AlikeMemo<Counted>(DIGITS_ASIDE, input.text.length / LINE_CHARS)
  let from: string | undefined
  /** The last time, or the line that holds it. */
  let to: string | { readonly start: number; readonly end: number } | undefined
  let total = 0

  const lineAt = (start: number, end: number): string => sanitise(input.text.slice(start, end))

  function rankAt(text: string, start: number, end: number, index: number): Rank | undefined {
    total++
    const known = text.charCodeAt(start) === OPEN_BRACE ? undefined : alike.get(text, start, end)
    if (known !== undefined) {
      if (known.timed) to = { start, end }
      return count(known, start, end, index)
    }
    const written = text.slice(start, end)
    const line = sanitise(written)
    if (line.trim() === '') return undefined
    const { time, level, message, toEnd } = readLine(line, fields)
    from ??= time
    to = time ?? to
    const inPlace = toEnd && line === written
    const shape =
      message.trim() === '' ? undefined : inPlace ? shapeOf(message, text, end - message.length) : shapeOf(message)
    const counted = { level, timed: time !== undefined, shape, gist: isError(level) ? gistOf(message) : undefined }
    // Numbers in JSON count by their values.
    if (!line.startsWith('{') && !digitsDecideLevel(line)) alike.set(counted, text, start, end)
    return count(counted, start, end, index, message)
  }

  /** The message is read from the line only where a shape is new. */
  function count(line: Counted, start: number, end: number, index: number, message?: string): Rank | undefined {
    const { level, shape, gist } = line
    levels.add(level)
    if (shape === undefined) return undefined
    const messageOf = (): string => message ?? readLine(lineAt(start, end), fields).message
    if (!patterns.addKnown(shape.key, index)) patterns.add(messageOf(), index, shape)
    if (gist === undefined) return undefined
    if (!errors.addKnown(shape.key, index)) errors.add(messageOf(), index, shape)
    const fresh = !gists.has(gist) && gists.size < MAX_GISTS
    if (fresh) gists.add(gist)
    return fresh ? 1 : 2
  }

  let facts: readonly string[] | undefined
  return textView(input, {
    rankAt,
    tailShare: 0.6,
    ranking: 'errors',
    facts() {
      facts ??= factsOf({
        total,
        levels,
        from,
        to: typeof to === 'object' ? parseLogLine(lineAt(to.start, to.end)).time : to,
        errors: errors.groups(),
        patterns: patterns.groups(),
        fields,
      })
      return facts
    },
  })
}

const isError = (level: Severity): boolean => level === 'error' || level === 'fatal'
const MAX_GISTS = 5_000
const gistOf = (message: string): string => message.slice(0, 120).replace(/[0-9a-f]{6,}|\d+/gi, '#')

/** A structured logger's line is read as JSON; anything else by its header. */
function readLine(line: string, fields: Fields): LogLine {
  if (!line.startsWith('{')) return parseLogLine(line)
  try {
    const record: unknown = JSON.parse(line)
    if (!isRecord(record)) return parseLogLine(line)
    fields.add(record)
    const raw = record['level'] ?? record['severity'] ?? record['lvl'] ?? record['levelname']
    const time = record['time'] ?? record['timestamp'] ?? record['ts'] ?? record['@timestamp']
    const header =
      typeof raw === 'number'
        ? pinoLevel(raw)
        : typeof raw === 'string'
          ? parseLogLine(`${raw.toUpperCase()}: x`).level
          : 'unknown'
    return {
      time: typeof time === 'string' || typeof time === 'number' ? String(time) : undefined,
      level: header,
      source: undefined,
      message: payloadOf(record),
      toEnd: false,
    }
  } catch {
    return parseLogLine(line)
  }
}

const pinoLevel = (level: number): Severity =>
  level >= 60 ? 'fatal' : level >= 50 ? 'error' : level >= 40 ? 'warn' : level >= 30 ? 'info' : 'debug'

interface LogFacts {
  readonly total: number
  readonly levels: Counter
  readonly from: string | undefined
  readonly to: string | undefined
  readonly errors: readonly LogGroup[]
  readonly patterns: readonly LogGroup[]
  /** Of the lines that are JSON. */
  readonly fields: Fields
}

function factsOf({ total, levels, from, to, errors, patterns, fields }: LogFacts): string[] {
  const byLevel = LEVEL_ORDER.filter((level) => levels.get(level) > 0).map(
    (level) => `${level} ${grouped(levels.get(level))}`,
  )
  const out = [
    `${counted(total, 'line')}; levels: ${byLevel.join(', ')}${from === undefined ? '' : `; time ${from} to ${to}`}`,
  ]
  if (errors.length > 0) {
    out.push(`Error groups, ${grouped(errors.length)} in all:`)
    out.push(...errors.slice(0, MAX_ERROR_GROUPS).map(groupText))
  }
  // A pattern that is an error group already would be told twice.
  const known = new Set(errors.slice(0, MAX_ERROR_GROUPS).map((group) => `${group.first} ${group.count}`))
  const others = patterns.filter((group) => !known.has(`${group.first} ${group.count}`))
  if (others.length > 0) {
    out.push(`${errors.length > 0 ? 'Other patterns' : 'Patterns'}, ${grouped(others.length)} in all:`)
    out.push(...others.slice(0, MAX_PATTERNS).map(groupText))
  }
  const measures = fields.report().filter(({ path, text }) => / p50[ ≈]/.test(text) && !LOG_TIME.includes(path))
  if (measures.length > 0) {
    out.push(`Numbers in ${counted(fields.records, 'JSON line')}:`)
    out.push(...measures.slice(0, MAX_MEASURES).map(({ path, text }) => `  ${path}: ${text}`))
  }
  const rare = others.slice(MAX_PATTERNS).filter((group) => group.count === 1)
  if (rare.length > 0) {
    out.push(`Seen once, ${grouped(rare.length)} in all:`)
    out.push(
      ...rare.slice(0, MAX_RARE).map((group) => `  line ${grouped(group.first + 1)}: ${group.example.slice(0, 160)}`),
    )
  }
  return out
}

function groupText({ count, template, first, last, variants }: LogGroup): string {
  const lines = count === 1 ? `line ${grouped(first + 1)}` : `lines ${grouped(first + 1)}-${grouped(last + 1)}`
  const words =
    variants === undefined ? '' : ` {${variants.map(([word, times]) => `${word} ${grouped(times)}`).join(', ')}}`
  const text = template.length > 200 ? `${template.slice(0, 200)}…` : template
  return `  ${grouped(count)}x ${text} (${lines})${words.length > 240 ? `${words.slice(0, 240)}…}` : words}`
}
