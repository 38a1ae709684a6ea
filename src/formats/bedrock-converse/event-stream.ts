import { crc32 } from 'node:zlib'
import type { StreamEvent } from '../../core/codec.ts'
import { type Fields, parsedJson, recordOf, stringOf } from '../../core/values.ts'
import type { EventParser, Frame, FrameReader, Framing } from '../framing.ts'

/**
 * AWS's binary framing of streams. A message is a prelude (its own length, that of its headers, a checksum of both), headers, a payload and a
 * checksum of everything before it.
 */
const PRELUDE = 12
const CHECKSUM = 4
/** AWS sends no longer message; a length above it is no length. */
const MAX_MESSAGE = 24 * 1024 * 1024
const CONTENT_TYPE = 'application/vnd.amazon.eventstream'

/** What a message says: the name of an event or of an exception, and its payload. */
export interface StreamMessage {
  readonly isException: boolean
  readonly name: string
  readonly payload: string
}

/** How the messages of one API are read as events, and written. */
export interface EventStreamUse {
  read(message: StreamMessage): StreamEvent | undefined
  write(event: StreamEvent): StreamMessage
}

const STRING = 7
/** Bytes of header values by their type; strings and byte arrays carry their length. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16]

function headersIn(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  for (let at = 0; at < bytes.length;) {
    const nameLength = bytes.readUInt8(at)
    const name = bytes.toString('utf8', at + 1, at + 1 + nameLength)
    at += 1 + nameLength
    const type = bytes.readUInt8(at++)
    const isSized = type === STRING || type === STRING - 1
    const size = isSized ? bytes.readUInt16BE(at) : VALUE_BYTES[type]
    if (size === undefined) throw new RangeError(`A header of the stream has the unknown type ${type}.`)
    if (isSized) at += 2
    if (type === STRING) headers.set(name, bytes.toString('utf8', at, at + size))
    at += size
  }
  return headers
}

function messageIn(bytes: Buffer): StreamMessage {
  const headersEnd = PRELUDE + bytes.readUInt32BE(4)
  const payloadEnd = bytes.length - CHECKSUM
  if (crc32(bytes.subarray(0, payloadEnd)) !== bytes.readUInt32BE(payloadEnd))
    throw new RangeError('A message of the stream does not have the checksum that it names.')
  const headers = headersIn(bytes.subarray(PRELUDE, headersEnd))
  const payload = bytes.toString('utf8', headersEnd, payloadEnd)
  const kind = headers.get(':message-type')
  if (kind === 'error') {
    const message = headers.get(':error-message') ?? ''
    return { isException: true, name: headers.get(':error-code') ?? 'error', payload: JSON.stringify({ message }) }
  }
  const isException = kind === 'exception'
  return { isException, name: headers.get(isException ? ':exception-type' : ':event-type') ?? '', payload }
}

/** The length of the message that begins here. @throws RangeError for what begins no message. */
function lengthAt(prelude: Buffer): number {
  const length = prelude.readUInt32BE(0)
  const isWrong = length < PRELUDE + CHECKSUM || length > MAX_MESSAGE
  if (isWrong || prelude.readUInt32BE(4) > length - PRELUDE - CHECKSUM)
    throw new RangeError(`A message of the stream cannot have ${length} bytes.`)
  if (crc32(prelude.subarray(0, 8)) !== prelude.readUInt32BE(8))
    throw new RangeError('The bytes of the stream are no messages of AWS.')
  return length
}

/** Cuts a stream into messages; pieces are joined once per message, so that one of many pieces stays linear. */
function cutter(): (bytes: Uint8Array) => Buffer[] {
  let pieces: Buffer[] = []
  let size = 0
  /** Of the open message, as soon as its prelude is there. */
  let length: number | undefined
  return (bytes) => {
    pieces.push(Buffer.from(bytes))
    size += bytes.length
    const messages: Buffer[] = []
    if (length === undefined ? size < PRELUDE : size < length) return messages
    let open = Buffer.concat(pieces)
    try {
      for (;;) {
        length = open.length < PRELUDE ? undefined : lengthAt(open.subarray(0, PRELUDE))
        if (length === undefined || open.length < length) return messages
        messages.push(open.subarray(0, length))
        open = open.subarray(length)
      }
    } finally {
      pieces = open.length === 0 ? [] : [open]
      size = open.length
    }
  }
}

function write({ isException, name, payload }: StreamMessage): Buffer {
  const headers = Buffer.concat(
    [
      [isException ? ':exception-type' : ':event-type', name],
      [':content-type', 'application/json'],
      [':message-type', isException ? 'exception' : 'event'],
    ].map(([key = '', value = '']) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(Buffer.byteLength(value))
      return Buffer.concat([
        Buffer.from([key.length]),
        Buffer.from(key),
        Buffer.from([STRING]),
        length,
        Buffer.from(value),
      ])
    }),
  )
  const body = Buffer.from(payload)
  const bytes = Buffer.alloc(PRELUDE + headers.length + body.length + CHECKSUM)
  bytes.writeUInt32BE(bytes.length, 0)
  bytes.writeUInt32BE(headers.length, 4)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
  headers.copy(bytes, PRELUDE)
  body.copy(bytes, PRELUDE + headers.length)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, bytes.length - CHECKSUM)), bytes.length - CHECKSUM)
  return bytes
}

/** @throws RangeError from `push` for what is no such stream. */
function eventParser({ read }: EventStreamUse): EventParser {
  const cut = cutter()
  return {
    push: (chunk) =>
      cut(typeof chunk === 'string' ? Buffer.from(chunk) : chunk).flatMap((one) => read(messageIn(one)) ?? []),
    end: () => [],
  }
}

/** What cannot be read passes as it came, and so does everything after it. */
function frameReader({ read }: EventStreamUse): FrameReader {
  let cut = cutter()
  let open: Buffer[] = []
  let isBlind = false
  return {
    push(bytes): Frame[] {
      if (isBlind) return [{ raw: bytes, event: undefined }]
      open.push(Buffer.from(bytes))
      try {
        const frames = cut(bytes).map((raw) => ({ raw, event: read(messageIn(raw)) }))
        const passed = frames.reduce((sum, { raw }) => sum + raw.length, 0)
        if (passed > 0) open = [Buffer.concat(open).subarray(passed)]
        return frames
      } catch {
        isBlind = true
        cut = cutter()
        return [{ raw: Buffer.concat(open.splice(0)), event: undefined }]
      }
    },
    end: () =>
      isBlind || open.every(({ length }) => length === 0) ? [] : [{ raw: Buffer.concat(open), event: undefined }],
  }
}

const framing = (use: EventStreamUse): Framing => ({
  contentType: CONTENT_TYPE,
  accept: CONTENT_TYPE,
  isStream: (contentType = '') => contentType.includes(CONTENT_TYPE),
  parser: () => eventParser(use),
  frames: () => frameReader(use),
  write: (event) => write(use.write(event)),
  keepAlive: '',
})

/** Events of Converse: the payload under the name of its event, as the SDK gives it. */
export const converseStream: Framing = framing({
  read: ({ name, payload }) => ({ event: name, data: `{${JSON.stringify(name)}:${payload === '' ? '{}' : payload}}` }),
  write({ data }) {
    const [name = '', payload = {}] = Object.entries(recordOf(parsedJson(data)) ?? {})[0] ?? []
    return { isException: name.endsWith('Exception'), name, payload: JSON.stringify(payload) }
  },
})

const BYTES = 'bytes'

/** Events that a model's own API would stream, each packed into a chunk. */
export const chunkStream: Framing = framing({
  read({ isException, name, payload }) {
    const fields: Fields = recordOf(parsedJson(payload)) ?? {}
    if (isException)
      return {
        event: 'error',
        data: JSON.stringify({ type: 'error', error: { type: name, message: fields['message'] } }),
      }
    const bytes = stringOf(fields[BYTES])
    return bytes === undefined ? undefined : { data: Buffer.from(bytes, 'base64').toString('utf8') }
  },
  write({ event, data }) {
    if (event !== 'error')
      return {
        isException: false,
        name: 'chunk',
        payload: JSON.stringify({ [BYTES]: Buffer.from(data).toString('base64') }),
      }
    const error = recordOf(parsedJson(data)) ?? {}
    const { type, message } = recordOf(error['error']) ?? error
    const name = stringOf(type) ?? ''
    return {
      isException: true,
      name: name.endsWith('Exception') ? name : 'internalServerException',
      payload: JSON.stringify({ message: stringOf(message) ?? data }),
    }
  },
})
