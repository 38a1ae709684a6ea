import { createSharedDrain, type Drain, shapeReader } from '../logs/drain.ts'
import { levelOf, parseLogLine } from '../logs/log-line.ts'
import type { Severity } from '../logs/log-line.ts'
import { Counter } from '../json/fields.ts'
import { isRecord } from '../../../core/values.ts'
import { pick, shortText, text } from './template.ts'
import type { Template } from './template.ts'
import { LOG_TEXT, LOG_TIME } from '../detect/json.ts'

const SAMPLES_PER_SEVERITY = 3
const MAX_SAMPLES = 20
const PAYLOAD_CHARS = 200
const TOP_ERRORS = 10
const ERROR_TEXT_CHARS = 200
const ERROR_GROUP_CHARS = 100
const TOP_PATTERNS = 15

/** Log entries as objects: Cloud Logging, structured loggers, anything with a level and a text. */
export function logsTemplate(): Template {
  let total = 0
  let earliest: string | undefined
  let latest: string | undefined
  const severities = new Counter(50)
  const resources = new Counter()
  const errorTexts = new Counter(2_000)
  const sampled = new Counter(50)
  const samples: Record<string, unknown>[] = []
  const shapeOf = shapeReader()
  const patterns = createSharedDrain(shapeOf)
  const errors = createSharedDrain(shapeOf)
  return {
    name: 'logs',
    add(record) {
      const ordinal = total++
      if (!isRecord(record)) return
      const severity = severityOf(record)
      severities.add(severity)
      const resource = resourceOf(record)
      if (resource !== undefined) resources.add(resource)
      const time = text(pick(record, ...LOG_TIME))
      // As AutoSRE does: text comparison, which is right for the ISO form that such APIs write.
      if (time !== undefined && (earliest === undefined || time < earliest)) earliest = time
      if (time !== undefined && (latest === undefined || time > latest)) latest = time
      const payload = payloadOf(record)
      const shape = shapeOf(payload)
      patterns.add(payload, ordinal, shape)
      if (isErrorSeverity(severity)) {
        errors.add(payload, ordinal, shape)
        if (payload.length < ERROR_TEXT_CHARS) errorTexts.add(payload.slice(0, ERROR_GROUP_CHARS))
      }
      if (samples.length < MAX_SAMPLES && sampled.get(severity) < SAMPLES_PER_SEVERITY) {
        sampled.add(severity)
        samples.push({
          severity,
          ...(time !== undefined && { timestamp: time }),
          payload: shortText(payload, PAYLOAD_CHARS),
        })
      }
    },
    finish: () => ({
      total_entries: total,
      by_severity: severities.toObject(),
      ...(resources.size > 0 && { by_resource_type: resources.toObject(20) }),
      ...(earliest !== undefined && { time_range: { earliest, latest } }),
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

/** The entry's own word, upper case; pino's and bunyan's numbers as words. */
function severityOf(record: Record<string, unknown>): string {
  const raw = pick(record, 'severity', 'level', 'log_level', 'levelname', 'lvl')
  if (typeof raw === 'number')
    return raw >= 60
      ? 'FATAL'
      : raw >= 50
        ? 'ERROR'
        : raw >= 40
          ? 'WARN'
          : raw >= 30
            ? 'INFO'
            : raw >= 20
              ? 'DEBUG'
              : 'TRACE'
  const word = text(raw)
  if (word !== undefined) return word.toUpperCase()
  const guessed: Severity = parseLogLine(payloadOf(record)).level
  return guessed.toUpperCase()
}

const isErrorSeverity = (severity: string): boolean => {
  const level = levelOf(severity)
  return level === 'error' || level === 'fatal'
}

function resourceOf(record: Record<string, unknown>): string | undefined {
  const resource = record['resource']
  if (isRecord(resource)) return text(resource['type'])
  return text(pick(record, 'resource_type', 'resourceType', 'resource', 'service', 'component', 'logger'))
}

export function payloadOf(record: Record<string, unknown>): string {
  const raw = pick(record, 'textPayload', 'text_payload', ...LOG_TEXT, 'jsonPayload', 'json_payload')
  if (typeof raw === 'string') return raw
  if (isRecord(raw)) {
    const inner = text(pick(raw, 'message', 'msg', 'text', 'error'))
    if (inner !== undefined) return inner
  }
  return boundedJson(raw ?? record)
}

function boundedJson(value: unknown): string {
  try {
    return shortText(JSON.stringify(value) ?? '', 2_000)
  } catch {
    // A value that is too deep to write.
    return '(nested value)'
  }
}
