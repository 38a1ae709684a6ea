import { isRecord, recordOf, parsedJson } from '../../../core/values.ts'
import { LOG_TEXT, LOG_TIME } from '../detect/json.ts'
import { Counter, Fields } from '../json/fields.ts'
import { jsonText } from '../json/json-view.ts'
import { pick, shortText, type Template, text } from '../templates/template.ts'
import { counted, grouped } from '../text.ts'
import type { BodyView, ViewInput } from '../types.ts'
import { type Rank, textView } from '../views/text.ts'
import { Drain, type LogGroup } from './drain.ts'
import { levelOf, type LogLine, parseLogLine, type Severity } from './log-line.ts'

/**
 * How logs are previewed: lines, among them those that structured loggers write as JSON (`logView`), and JSON lists of entries
 * (`logsTemplate`). Both read an entry with `readEntry` and mine the same templates.
 */

/** What one entry of a JSON log says. */
interface LogEntry {
  readonly time: string | undefined
  /** The entry's own word in upper case; pino's and bunyan's numbers as words. */
  readonly severity: string
  readonly message: string
}

function readEntry(record: Record<string, unknown>): LogEntry {
  const message = messageOf(record)
  const raw = pick(record, 'severity', 'level', 'log_level', 'levelname', 'lvl')
  const severity = typeof raw === 'number' ? severityOf(raw) : (text(raw) ?? parseLogLine(message).level).toUpperCase()
  return { time: text(pick(record, ...LOG_TIME)), severity, message }
}

const SEVERITIES = [
  [60, 'FATAL'],
  [50, 'ERROR'],
  [40, 'WARN'],
  [30, 'INFO'],
  [20, 'DEBUG'],
] as const

const severityOf = (level: number): string => SEVERITIES.find(([least]) => level >= least)?.[1] ?? 'TRACE'

function messageOf(record: Record<string, unknown>): string {
  const raw = pick(record, 'textPayload', 'text_payload', ...LOG_TEXT, 'jsonPayload', 'json_payload')
  if (typeof raw === 'string') return raw
  const inner = isRecord(raw) ? text(pick(raw, 'message', 'msg', 'text', 'error')) : undefined
  return inner ?? shortText(jsonText(raw ?? record), 2_000)
}

const isError = (level: Severity | undefined): boolean => level === 'error' || level === 'fatal'

const SAMPLES_PER_SEVERITY = 3
const MAX_SAMPLES = 20
const PAYLOAD_CHARS = 200
const TOP_ERRORS = 10
const ERROR_TEXT_CHARS = 200
const ERROR_GROUP_CHARS = 100
const TOP_PATTERNS = 15

/** A list of entries: Cloud Logging, structured loggers, anything with a level and a text. */
export function logsTemplate(): Template {
  let total = 0
  let earliest: string | undefined
  let latest: string | undefined
  const severities = new Counter(50)
  const resources = new Counter()
  const errorTexts = new Counter(2_000)
  const sampled = new Counter(50)
  const samples: Record<string, unknown>[] = []
  const patterns = new Drain()
  const errors = new Drain()
  return {
    name: 'logs',
    add(record) {
      const ordinal = total++
      if (!isRecord(record)) return
      const { time, severity, message } = readEntry(record)
      severities.add(severity)
      const resource = resourceOf(record)
      if (resource !== undefined) resources.add(resource)
      // As AutoSRE does: text comparison, which is right for the ISO form that such APIs write.
      if (time !== undefined && (earliest === undefined || time < earliest)) earliest = time
      if (time !== undefined && (latest === undefined || time > latest)) latest = time
      patterns.add(message, ordinal)
      if (isError(levelOf(severity))) {
        errors.add(message, ordinal)
        if (message.length < ERROR_TEXT_CHARS) errorTexts.add(message.slice(0, ERROR_GROUP_CHARS))
      }
      if (samples.length < MAX_SAMPLES && sampled.get(severity) < SAMPLES_PER_SEVERITY) {
        sampled.add(severity)
        samples.push({ severity, timestamp: time, payload: shortText(message, PAYLOAD_CHARS) })
      }
    },
    finish: () => ({
      total_entries: total,
      by_severity: severities.toObject(),
      by_resource_type: resources.size > 0 ? resources.toObject(20) : undefined,
      time_range: earliest === undefined ? undefined : { earliest, latest },
      top_errors: errorTexts.top(TOP_ERRORS).map(([message, count]) => ({ message, count })),
      error_groups: groupsOf(errors, TOP_ERRORS),
      patterns: groupsOf(patterns, TOP_PATTERNS),
      samples,
    }),
  }
}

const groupsOf = (drain: Drain, count: number): Record<string, unknown>[] =>
  drain
    .groups()
    .slice(0, count)
    .map((group) => ({
      count: group.count,
      template: shortText(group.template, 240),
      first_item: group.first + 1,
      last_item: group.last + 1,
    }))

function resourceOf(record: Record<string, unknown>): string | undefined {
  const resource = record['resource']
  if (isRecord(resource)) return text(resource['type'])
  return text(pick(record, 'resource_type', 'resourceType', 'resource', 'service', 'component', 'logger'))
}

const LEVEL_ORDER: readonly Severity[] = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'unknown']
const MAX_ERROR_GROUPS = 10
const MAX_PATTERNS = 15
const MAX_RARE = 6
const MAX_MEASURES = 8
const MAX_GISTS = 5_000
/** Log lines: counts by level, time range, error groups and patterns by mined templates, then the lines themselves. */
export function logView(input: ViewInput): BodyView {
  const levels = new Counter(10)
  const patterns = new Drain()
  const errors = new Drain()
  const gists = new Set<string>()
  const fields = new Fields()
  let from: string | undefined
  let to: string | undefined
  let total = 0

  function rank(line: string, index: number): Rank | undefined {
    total++
    if (line.trim() === '') return undefined
    const { time, level, message } = readLine(line, fields)
    from ??= time
    to = time ?? to
    levels.add(level)
    if (message.trim() === '') return undefined
    patterns.add(message, index)
    if (!isError(level)) return undefined
    errors.add(message, index)
    const gist = gistOf(message)
    const isNew = !gists.has(gist) && gists.size < MAX_GISTS
    if (isNew) gists.add(gist)
    return isNew ? 1 : 2
  }

  let facts: readonly string[] | undefined
  return textView(input, {
    rank,
    tailShare: 0.6,
    ranking: 'errors',
    facts() {
      facts ??= factsOf({ total, levels, from, to, errors: errors.groups(), patterns: patterns.groups(), fields })
      return facts
    },
  })
}

const gistOf = (message: string): string => message.slice(0, 120).replace(/[0-9a-f]{6,}|\d+/gi, '#')

/** A structured logger's line is read as JSON, and its fields are counted; anything else is read by its header. */
function readLine(line: string, fields: Fields): LogLine {
  const record = line.startsWith('{') ? recordOf(parsedJson(line)) : undefined
  if (record === undefined) return parseLogLine(line)
  fields.add(record)
  const { time, severity, message } = readEntry(record)
  return { time, level: levelOf(severity) ?? 'unknown', message }
}

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
  const measures = fields.report().filter(({ path, text }) => / p50 /.test(text) && !LOG_TIME.includes(path))
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

function groupText({ count, template, first, last }: LogGroup): string {
  const lines = count === 1 ? `line ${grouped(first + 1)}` : `lines ${grouped(first + 1)}-${grouped(last + 1)}`
  return `  ${grouped(count)}x ${shortText(template, 200)} (${lines})`
}
