import type { StreamEvent } from '../core/codec.ts'

/** Reads server-sent events from byte chunks cut anywhere. */
export interface SseParser {
  /** Events completed by this chunk. */
  push(chunk: Uint8Array | string): StreamEvent[]
  /** The event that was open when the stream ended, if it has data: some servers forget the last blank line. */
  end(): StreamEvent[]
}

export interface SseParserOptions {
  /** Longest event in characters; a server that never ends a line must not fill the memory. @default 64 Mi */
  readonly maxEventChars?: number
}

/** The payload that ends an OpenAI-style stream. It is no JSON. */
export const SSE_DONE = '[DONE]'

/** @throws RangeError from `push` when an event grows past `maxEventChars`. */
export function createSseParser(options: SseParserOptions = {}): SseParser {
  const { maxEventChars = 64 * 1024 * 1024 } = options
  // `ignoreBOM: false` takes a byte order mark off the front, as the standard asks.
  const decoder = new TextDecoder('utf-8')
  // The open line, in the pieces it arrived in: joining once per line keeps a line of many chunks linear.
  let pieces: string[] = []
  let eventName: string | undefined
  let data: string[] = []
  let size = 0
  let afterCarriageReturn = false

  const grow = (chars: number): void => {
    size += chars
    if (size > maxEventChars) throw new RangeError(`A server-sent event is longer than ${maxEventChars} characters.`)
  }

  const dispatch = (): StreamEvent | undefined => {
    const event = data.length === 0 ? undefined : toEvent(eventName, data.join('\n'))
    eventName = undefined
    data = []
    size = 0
    return event
  }

  const takeLine = (line: string): StreamEvent | undefined => {
    if (line === '') return dispatch()
    // A comment; servers send them to keep a connection open.
    if (line.startsWith(':')) return undefined
    const colon = line.indexOf(':')
    const field = colon === -1 ? line : line.slice(0, colon)
    const start = line[colon + 1] === ' ' ? colon + 2 : colon + 1
    const value = colon === -1 ? '' : line.slice(start)
    if (field === 'data') data.push(value)
    else if (field === 'event') eventName = value
    return undefined
  }

  const takeText = (text: string): StreamEvent[] => {
    const events: StreamEvent[] = []
    let start = 0
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      if (code !== 10 && code !== 13) {
        afterCarriageReturn = false
        continue
      }
      // The LF of a CRLF, even when the pair was split between chunks.
      if (code === 10 && afterCarriageReturn) {
        afterCarriageReturn = false
        start = at + 1
        continue
      }
      afterCarriageReturn = code === 13
      pieces.push(text.slice(start, at))
      grow(at - start)
      start = at + 1
      const event = takeLine(pieces.length === 1 ? (pieces[0] ?? '') : pieces.join(''))
      pieces = []
      if (event !== undefined) events.push(event)
    }
    if (start < text.length) {
      pieces.push(text.slice(start))
      grow(text.length - start)
    }
    return events
  }

  return {
    push: (chunk) => takeText(typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })),
    end() {
      const events = takeText(decoder.decode())
      const lastLine = pieces.join('')
      pieces = []
      const closing = lastLine === '' ? undefined : takeLine(lastLine)
      const open = dispatch()
      return [...events, ...(closing === undefined ? [] : [closing]), ...(open === undefined ? [] : [open])]
    },
  }
}

const toEvent = (event: string | undefined, data: string): StreamEvent =>
  event === undefined || event === '' ? { data } : { event, data }

/** One event as it travels. Data with line breaks becomes several `data:` lines, so reading it back gives the same text. */
export function formatSseEvent(event: StreamEvent): string {
  const name = event.event === undefined ? '' : `event: ${event.event.replace(/[\r\n]/g, ' ')}\n`
  const lines = event.data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
  return `${name}${lines.join('')}\n`
}

/** A comment line, which clients ignore. */
export const formatSseComment = (text: string): string => `: ${text.replace(/[\r\n]/g, ' ')}\n\n`

/** A server that never ends an event must not fill the memory: what is longer passes without being read, and so does the rest. */
const MAX_EVENT_CHARS = 8 * 1024 * 1024

/** Cuts a byte stream into events and keeps their text, so that what passes unchanged passes byte for byte. */
function frameReader(): { push(bytes: Uint8Array): Frame[]; end(): Frame[] } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  const parser = createSseParser()
  /** The open event, in the pieces it came in: joined once, so that an event of many chunks stays linear. */
  let pieces: string[] = []
  let size = 0
  /** The last characters of it, since a border may be cut between two chunks. */
  let tail = ''
  let isBlind = false
  const close = (last: string): string => {
    const raw = pieces.join('') + last
    pieces = []
    size = 0
    tail = ''
    return raw
  }
  const take = (text: string): Frame[] => {
    if (isBlind) return text === '' ? [] : [{ raw: text, event: undefined }]
    const frames: Frame[] = []
    // A run of empty lines is one border: a server may send millions of them.
    const border = /(?:\r\n){2,}|\n{2,}|\r{2,}/g
    const held = tail.length
    const searched = tail + text
    let from = 0
    for (let match = border.exec(searched); match !== null; match = border.exec(searched)) {
      const to = border.lastIndex - held
      const raw = close(text.slice(from, to))
      frames.push({ raw, event: parser.push(raw)[0] })
      from = to
    }
    if (from < text.length) {
      pieces.push(text.slice(from))
      size += text.length - from
      tail = (from === 0 ? searched : text.slice(from)).slice(-3)
    }
    if (size <= MAX_EVENT_CHARS) return frames
    isBlind = true
    return [...frames, { raw: close(''), event: undefined }]
  }
  return {
    push: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end() {
      const frames = take(decoder.decode())
      const raw = close('')
      if (raw === '') return frames
      const [event] = [...parser.push(raw), ...parser.end()]
      return [...frames, { raw, event }]
    },
  }
}

/** One event with the exact text that it came in. */
export interface Frame {
  readonly raw: string
  /** Undefined for comments and other frames without data. */
  readonly event: StreamEvent | undefined
}

/** Reads events from byte chunks cut anywhere. */
export interface EventParser {
  /** Events completed by this chunk. */
  push(chunk: Uint8Array | string): StreamEvent[]
  /** The event that was open when the stream ended. */
  end(): StreamEvent[]
}

/** How the events of a stream travel. */
export interface Framing {
  /** What a stream of ours says that it is. */
  readonly contentType: string
  /** What a client says that it takes. */
  readonly accept: string
  isStream(contentType: string | undefined): boolean
  parser(): EventParser
  /** The same with the text that each event came in, so that what passes unchanged passes byte for byte. */
  frames(): { push(bytes: Uint8Array): Frame[]; end(): Frame[] }
  write(event: StreamEvent): string
  /** Tells a client that the connection is alive; empty where the framing has no such thing. */
  readonly keepAlive: string
}

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
