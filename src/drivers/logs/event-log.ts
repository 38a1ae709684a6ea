import { type EventSink, LOG_LEVELS, type LogLevel, type PlimsollEvent } from '../../core/events.ts'
import { PlimsollError } from '../../core/errors.ts'
import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs'
import { dirname } from 'node:path'

/** The log level of an event. */
const LEVELS: Readonly<Record<PlimsollEvent['type'], LogLevel>> = {
  'request-prepared': 'debug',
  'request-forwarded': 'debug',
  'usage-recorded': 'debug',
  'cache-missed': 'info',
  'quota-seen': 'debug',
  'item-offloaded': 'debug',
  'epoch-deferred': 'debug',
  'fetched-again': 'debug',
  'prefix-broken': 'debug',
  'compaction-needed': 'debug',
  'output-lowered': 'info',
  'epoch-declared': 'info',
  'epoch-reanchored': 'info',
  'epoch-undone': 'info',
  'calibration-drifted': 'info',
  'window-learned': 'info',
  'verdict-given': 'info',
  'usage-missing': 'info',
  'call-unanswered': 'info',
  'call-refused': 'warning',
  'epoch-orphaned': 'warning',
  'overflow-recovered': 'warning',
  'context-warning': 'warning',
  'budget-reached': 'warning',
  'summary-rejected': 'warning',
  warning: 'warning',
  degraded: 'error',
}

/** @throws PlimsollError `bad-config` */
export function readLogLevel(text: string): LogLevel {
  const level = LOG_LEVELS.find((name) => name === text.trim().toLowerCase())
  if (level !== undefined) return level
  throw new PlimsollError('bad-config', `${JSON.stringify(text.slice(0, 40))} is not a log level.`, {
    advice: `Use one of ${LOG_LEVELS.join(', ')}.`,
  })
}

/** Events from a level on as JSON lines: `time`, `level`, `event`, then the event's fields. Events contain no content and no credentials. */
export function eventLog(least: LogLevel, write: (line: string) => void): EventSink {
  const from = LOG_LEVELS.indexOf(least)
  return (event) => {
    const level = event.type === 'warning' ? (event.level ?? 'warning') : LEVELS[event.type]
    if (LOG_LEVELS.indexOf(level) < from) return
    const { type, at, ...said } = event
    if ('level' in said) delete said.level
    write(`${JSON.stringify({ time: new Date(at).toISOString(), level, event: type, ...said })}\n`)
  }
}

/** A warning with a level is a line of a preset's log; a topic with a slash is one of its debug topics. */
const isLine = (event: PlimsollEvent): event is PlimsollEvent & { type: 'warning' } =>
  event.type === 'warning' && (event.level !== undefined || event.topic.includes('/'))

export interface LogFile {
  readonly take: EventSink
  close(): Promise<void>
}

/** Appends the log lines of the presets to a file, in the original wording, for which users search. Opened with the first line. */
export function designLogFile(path: string): LogFile {
  let stream: WriteStream | undefined
  const open = (): WriteStream => {
    mkdirSync(dirname(path), { recursive: true })
    // A log that cannot be written must not stop a request.
    return createWriteStream(path, { flags: 'a', mode: 0o600 }).on('error', () => {})
  }
  return {
    take(event) {
      if (!isLine(event)) return
      stream ??= open()
      const level = (event.level ?? 'debug').toUpperCase()
      const where = event.topic.includes('/') ? `${event.topic} ` : ''
      stream.write(`${new Date(event.at).toISOString()} ${level} ${where}${event.message}\n`)
    },
    close: () => new Promise((resolve) => (stream === undefined ? resolve() : stream.end(() => resolve()))),
  }
}

/** Prints ai-agent's debug topics as the design does: the topic, then its numbers. */
export const printDebugTopics =
  (write: (text: string) => void): EventSink =>
  (event) => {
    if (event.type === 'warning' && event.topic.startsWith('context-guard/')) write(`${event.topic} ${event.message}\n`)
  }
