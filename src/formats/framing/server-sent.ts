import type { Framing } from './framing.ts'
import { createSseParser, formatSseComment, formatSseEvent } from './sse.ts'
import { frameReader } from './sse-frames.ts'

const TYPE = 'text/event-stream'

/** Server-sent events, by which most wires stream. */
export const serverSentEvents: Framing = {
  contentType: `${TYPE}; charset=utf-8`,
  accept: TYPE,
  isStream: (contentType = '') => contentType.includes(TYPE),
  parser: () => createSseParser(),
  frames: frameReader,
  write: formatSseEvent,
  keepAlive: formatSseComment('working'),
}
