import { createWriteStream, mkdirSync, type WriteStream } from 'node:fs'
import { dirname } from 'node:path'
import type { EventSink, PlimsollEvent } from '../../core/events.ts'

/** A warning with a level is a line of a design's own log; a topic with a slash is one of its debug topics. */
const isLine = (event: PlimsollEvent): event is PlimsollEvent & { type: 'warning' } =>
  event.type === 'warning' && (event.level !== undefined || event.topic.includes('/'))

export interface LogFile {
  readonly take: EventSink
  close(): Promise<void>
}

/** Appends the log lines of the presets to a file, in the words that their users search for. Opened with the first line. */
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
