import { type EventSink, LOG_LEVELS, type LogLevel, type PlimsollEvent } from '../../core/events.ts'
import { PlimsollError } from '../../core/errors.ts'

/** How much an event matters to whoever runs the process. */
const LEVELS: Readonly<Record<PlimsollEvent['type'], LogLevel>> = {
  'request-prepared': 'debug',
  'request-forwarded': 'debug',
  'usage-recorded': 'debug',
  'item-offloaded': 'debug',
  'epoch-deferred': 'debug',
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

/** Events from a level on as JSON lines: `time`, `level`, `event`, then what the event says. Events hold no content and no credentials. */
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
