import { describe, expect, it } from 'vitest'
import { LOG_LEVELS, type PlimsollEvent } from '../../src/core/events.ts'
import { eventLog, readLogLevel } from '../../src/drivers/logs/event-log.ts'
import { createPlimsoll } from '../../src/index.ts'

const about = { at: 0, tenant: 't', session: 's' }
const EVENTS: readonly PlimsollEvent[] = [
  { ...about, type: 'overflow-recovered' },
  { ...about, type: 'request-forwarded', status: 200, durationMs: 5 },
  { ...about, type: 'window-learned', model: 'm', window: 8_000, source: 'overflow' },
  { ...about, type: 'degraded', what: 'store', cause: 'away' },
  { ...about, type: 'warning', topic: 'design', message: 'a line', level: 'info' },
]

describe('logs', () => {
  it.each([
    ['debug', ['overflow-recovered', 'request-forwarded', 'window-learned', 'degraded', 'warning']],
    ['info', ['overflow-recovered', 'window-learned', 'degraded', 'warning']],
    ['warning', ['overflow-recovered', 'degraded']],
    ['error', ['degraded']],
  ] as const)('at %s hold these', (level, types) => {
    const lines: string[] = []
    const log = eventLog(level, (line) => lines.push(line))
    EVENTS.forEach(log)
    expect(lines.map((line) => (JSON.parse(line) as { event: string }).event)).toEqual(types)
    expect(lines.every((line) => line.endsWith('\n') && !line.slice(0, -1).includes('\n'))).toBe(true)
  })

  it('say when, how bad, what, and whose', () => {
    const lines: string[] = []
    eventLog('debug', (line) => lines.push(line))(EVENTS[3]!)
    expect(JSON.parse(lines[0]!)).toEqual({
      time: '1970-01-01T00:00:00.000Z',
      level: 'error',
      event: 'degraded',
      tenant: 't',
      session: 's',
      what: 'store',
      cause: 'away',
    })
  })

  it('know their levels and no others', () => {
    expect(LOG_LEVELS.map((level) => readLogLevel(` ${level.toUpperCase()} `))).toEqual([...LOG_LEVELS])
    expect(() => readLogLevel('loud')).toThrow('"loud" is not a log level. Use one of debug, info, warning, error.')
    expect(() => createPlimsoll({ store: 'memory:', logLevel: 'loud' as 'info' })).toThrow(
      'logLevel must be one of debug, info, warning, error, not "loud".',
    )
  })
})
