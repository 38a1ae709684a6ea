import type { StreamEvent } from '../core/codec.ts'

/** The payload that ends an OpenAI-style stream. It is not JSON. */
export const SSE_DONE = '[DONE]'

/** One event, and exactly what it was read from. */
export interface Frame {
  readonly raw: Piece
  /** Undefined for comments and other frames without data. */
  readonly event: StreamEvent | undefined
}

/** Reads events from chunks of bytes that may end anywhere. */
export interface EventParser {
  /** Returns the events that this chunk completes. */
  push(chunk: Uint8Array | string): StreamEvent[]
  /** Returns the last event if the stream ends within it and it has data: some servers omit the final empty line. */
  end(): StreamEvent[]
}

/** The same with what each event came in, so that unchanged events are forwarded byte for byte. */
export interface FrameReader {
  push(bytes: Uint8Array): Frame[]
  end(): Frame[]
}

/** A stretch of a stream: text, or bytes where the framing is binary. */
export type Piece = string | Uint8Array

/** Pieces as they travel. */
export function bytesOf(pieces: readonly Piece[]): Buffer {
  return pieces.every((piece) => typeof piece === 'string')
    ? Buffer.from(pieces.join(''))
    : Buffer.concat(pieces.map((piece) => Buffer.from(piece as Uint8Array)))
}

/** How a wire separates the events of a stream. */
export interface Framing {
  /** The content type of our own streams. */
  readonly contentType: string
  /** The `accept` header of our own requests. */
  readonly accept: string
  isStream(contentType: string | undefined): boolean
  parser(): EventParser
  frames(): FrameReader
  write(event: StreamEvent): Piece
  /** Keeps a connection alive; empty if the framing has no such thing. */
  readonly keepAlive: string
}

/** The separator between two events, and how one is read. */
interface Cutting {
  readonly border: RegExp
  eventIn(raw: string): StreamEvent | undefined
}

/** A run of empty lines is one separator: a server may send millions of them. The last line break may be half of a pair. */
const EVENTS: Cutting = { border: /(?:\r\n|\n|\r(?!\n)){2,}/g, eventIn: sseEventIn }

const LINES: Cutting = {
  border: /\n/g,
  eventIn(raw) {
    const data = raw.trim()
    return data === '' ? undefined : { data }
  },
}

/** Bounds the memory for an event that never ends. A longer one is forwarded without being read, and so is the rest of the stream. */
const MAX_EVENT_CHARS = 8 * 1024 * 1024

function frameReader({ border, eventIn }: Cutting, most = MAX_EVENT_CHARS, tooLong = (): void => {}): FrameReader {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** The chunks of the unfinished event, joined once, so that an event of many chunks takes linear time. */
  let pieces: string[] = []
  let size = 0
  /** Its last characters, because a separator may be split between two chunks. */
  let tail = ''
  let isBlind = false
  const close = (last: string): Frame => {
    const raw = pieces.join('') + last
    pieces = []
    size = 0
    tail = ''
    return { raw, event: isBlind ? undefined : eventIn(raw) }
  }
  const grow = (piece: string): void => {
    size += piece.length
    pieces.push(piece)
    if (size <= most) return
    tooLong()
    isBlind = true
  }
  const take = (text: string): Frame[] => {
    if (isBlind && text !== '') return [{ raw: text, event: undefined }]
    const frames: Frame[] = []
    const held = tail.length
    const searched = tail + text
    let from = 0
    for (const match of searched.matchAll(border)) {
      const to = match.index + match[0].length - held
      // The separator was split: its last line break came with this chunk.
      if (to <= from) continue
      grow(text.slice(from, to))
      frames.push(close(''))
      from = to
    }
    if (from === text.length) return frames
    grow(text.slice(from))
    tail = searched.slice(held + from).slice(-3)
    return isBlind ? [...frames, close('')] : frames
  }
  return {
    push: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end() {
      const frames = take(decoder.decode())
      return size === 0 ? frames : [...frames, close('')]
    },
  }
}

function eventParser(cutting: Cutting, maxEventChars: number): EventParser {
  const reader = frameReader(cutting, maxEventChars, () => {
    throw new RangeError(`An event of the stream is longer than ${maxEventChars} characters.`)
  })
  const eventsOf = (frames: readonly Frame[]): StreamEvent[] => frames.flatMap(({ event }) => event ?? [])
  return {
    push: (chunk) => eventsOf(reader.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)),
    end: () => eventsOf(reader.end()),
  }
}

function sseEventIn(raw: string): StreamEvent | undefined {
  let event: string | undefined
  const data: string[] = []
  // A byte order mark at the front is removed, as the standard requires.
  for (const line of raw.replace(/^\uFEFF/, '').split(/\r\n|\n|\r/)) {
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!
    if (field === 'data') data.push(value)
    else if (field === 'event') event = value
  }
  if (data.length === 0) return undefined
  return { event: event === '' ? undefined : event, data: data.join('\n') }
}

/** The longest event that is read from a stream of our own. */
const MOST_READ = 64 * 1024 * 1024

export interface SseParserOptions {
  /** The longest event in characters; bounds the memory for a line that never ends. @default 64 Mi */
  readonly maxEventChars?: number
}

/** Server-sent events from byte chunks. @throws RangeError from `push` when an event grows past `maxEventChars`. */
export const createSseParser = ({ maxEventChars = MOST_READ }: SseParserOptions = {}): EventParser =>
  eventParser(EVENTS, maxEventChars)

/** Writes one event. Data with line breaks becomes several `data:` lines, so that it is read back unchanged. */
export function formatSseEvent(event: StreamEvent): string {
  const name = event.event === undefined ? '' : `event: ${event.event.replace(/[\r\n]/g, ' ')}\n`
  const lines = event.data.split(/\r\n|\r|\n/).map((line) => `data: ${line}\n`)
  return `${name}${lines.join('')}\n`
}

/** A comment line, which clients ignore. */
export const formatSseComment = (text: string): string => `: ${text.replace(/[\r\n]/g, ' ')}\n\n`

const SSE_TYPE = 'text/event-stream'

/** Server-sent events, used by most wires. */
export const serverSentEvents: Framing = {
  contentType: `${SSE_TYPE}; charset=utf-8`,
  accept: SSE_TYPE,
  isStream: (contentType = '') => contentType.includes(SSE_TYPE),
  parser: () => createSseParser(),
  frames: () => frameReader(EVENTS),
  write: formatSseEvent,
  keepAlive: formatSseComment('working'),
}

const LINES_TYPE = 'application/x-ndjson'

/** One JSON object per line. */
export const jsonLines: Framing = {
  contentType: LINES_TYPE,
  accept: LINES_TYPE,
  isStream: (contentType = '') => contentType.includes('ndjson'),
  parser: () => eventParser(LINES, MOST_READ),
  frames: () => frameReader(LINES),
  write: ({ data }) => `${data}\n`,
  keepAlive: '',
}
