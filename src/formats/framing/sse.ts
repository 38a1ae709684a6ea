import type { StreamEvent } from '../../core/codec.ts'

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
