import { pipeline } from 'node:stream'
import type { Codec, ModelResponse } from '../core/codec.ts'
import type { HeaderReader } from '../formats/endpoints.ts'
import { parsedJson, recordOf } from '../core/values.ts'
import { isOverBounds } from '../formats/json/bounds.ts'
import { classifyProviderError, type ClassifiedError } from '../formats/overflow/classify.ts'
import type { Wire } from '../formats/registry.ts'
import { isEncoded, unpacker } from './http/encoding.ts'

/** By lower-case name; several of one name as a list. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>

/** An upstream's answer whose body has not been read. */
export interface UpstreamAnswer {
  readonly status: number
  readonly statusText?: string
  readonly headers: Headers
  readonly header: HeaderReader
  readonly body: AnswerBody
}

/** Whether a promise settles in time. */
function settledWithin(waitMs: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, Math.max(0, waitMs), false)
    promise.then(() => resolve(true), reject).finally(() => clearTimeout(timer))
  })
}

/** The body of an upstream's answer. Pieces that were read ahead are returned again. */
export class AnswerBody implements AsyncIterable<Uint8Array> {
  /** Pieces that were read ahead. */
  readonly ahead: Uint8Array[] = []
  readonly #read: () => Promise<IteratorResult<Uint8Array, unknown>>
  /** A pending read that was too late for `peek`; the next read uses it. */
  #reading: Promise<IteratorResult<Uint8Array, unknown>> | undefined
  readonly #cancel: () => void
  #isDiscarded = false

  constructor(read: () => Promise<IteratorResult<Uint8Array, unknown>>, cancel: () => void) {
    this.#read = read
    this.#cancel = cancel
  }

  /** Releases the connection. */
  discard(): void {
    this.#isDiscarded = true
    this.#cancel()
  }

  /** Reads the next piece ahead; `late` if none arrives in time. */
  async peek(waitMs = Infinity): Promise<Uint8Array | 'end' | 'late'> {
    this.#reading ??= this.#read()
    if (waitMs !== Infinity) {
      if (!(await settledWithin(waitMs, this.#reading))) {
        // The next read reports a failure.
        this.#reading.catch(() => undefined)
        return 'late'
      }
    }
    const { done, value } = await this.#reading
    if (done === true) return 'end'
    this.#reading = undefined
    this.ahead.push(value)
    return value
  }

  /** The whole body as it was received; undefined if it is longer than `limit`. It can then still be forwarded. */
  async whole(limit: number): Promise<Uint8Array | undefined> {
    let size = this.ahead.reduce((sum, piece) => sum + piece.length, 0)
    while (size <= limit) {
      const piece = await this.peek()
      if (typeof piece === 'string') return Buffer.concat(this.ahead)
      size += piece.length
    }
    return undefined
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      yield* this.ahead
      for (;;) {
        const { done, value } = await (this.#reading ?? this.#read())
        this.#reading = undefined
        // A cancelled reader ends as if everything had been read.
        if (this.#isDiscarded) throw new Error('The answer was given up.')
        if (done === true) return
        yield value
      }
    } finally {
      this.discard()
    }
  }
}

/** Creates an answer from its status, headers and body. */
export const answerOf = (status: number, headers: Headers, body: AnswerBody, statusText?: string): UpstreamAnswer => ({
  status,
  statusText,
  headers,
  header(name) {
    const value = headers[name]
    return typeof value === 'object' ? value[0] : value
  },
  body,
})

/** We request plain answers. One that is encoded anyway is decoded here; if this Node version cannot, it is forwarded unread. */
export function plainAnswer(answer: UpstreamAnswer): UpstreamAnswer {
  const encoding = answer.header('content-encoding')
  if (!isEncoded(encoding)) return answer
  try {
    const unpack = unpacker(encoding)
    // Errors appear when the decoded stream is read.
    return unpack === undefined
      ? answer
      : withPieces(
          answer,
          {},
          pipeline(answer.body, unpack, () => undefined),
        )
  } catch {
    return answer
  }
}

/** The same answer with another body, without the old length and encoding. */
export function withPieces(
  { status, headers, body }: UpstreamAnswer,
  changes: Headers,
  pieces: AsyncIterable<Uint8Array>,
): UpstreamAnswer {
  const { 'content-encoding': _encoding, 'content-length': _length, ...rest } = headers
  const source = pieces[Symbol.asyncIterator]()
  const own = new AnswerBody(
    () => source.next(),
    () => body.discard(),
  )
  return answerOf(status, { ...rest, ...changes }, own)
}

/** Reads an answer while its bytes are forwarded. Never throws and never changes a byte. */
interface ResponseObserver {
  chunk(bytes: Uint8Array): void
  /** Called when the answer is complete or cut off. Undefined if it could not be read. */
  end(): ModelResponse | undefined
}

/** The most bytes of a body that is not streamed, and of a stream's events, that are kept for reading. */
const MAX_BODY_BYTES = 16 * 1024 * 1024
const MAX_STREAM_BYTES = 256 * 1024 * 1024

export function observeResponse(
  { codec, framing }: Wire,
  { header }: Pick<UpstreamAnswer, 'header'>,
): ResponseObserver {
  const isStream = framing.isStream(header('content-type'))
  const most = isStream ? MAX_STREAM_BYTES : MAX_BODY_BYTES
  const parser = framing.parser()
  const reducer = codec.stream()
  const pieces: Uint8Array[] = []
  let size = 0
  let isLost = false
  return {
    chunk(bytes) {
      size += bytes.length
      isLost ||= size > most
      if (isLost) return
      if (!isStream) return void pieces.push(bytes)
      try {
        for (const event of parser.push(bytes)) reducer.push(event)
      } catch {
        isLost = true
      }
    },
    end() {
      if (isLost) return undefined
      try {
        if (!isStream) return readWhole(codec, Buffer.concat(pieces))
        for (const event of parser.end()) reducer.push(event)
        return reducer.response()
      } catch {
        return undefined
      }
    },
  }
}

/** A stream may be one JSON array of chunks; each is read as an event. */
function readWhole(codec: Codec, bytes: Buffer): ModelResponse | undefined {
  if (isOverBounds(bytes)) return undefined
  const body: unknown = JSON.parse(bytes.toString('utf8'))
  if (!Array.isArray(body)) return codec.readResponse(body)
  const reducer = codec.stream()
  for (const chunk of body) reducer.push({ data: JSON.stringify(chunk) })
  return reducer.response()
}

/** A refusal comes before the model runs; a client that waits longer than this for the first byte may give up. */
const HOLD_MS = 10_000
/** The most bytes that are searched before the first word. */
const HOLD_BYTES = 64 * 1024

/**
 * Finds a refusal in an answer with a success status: an error event before the first word, or an error as the whole
 * body. The answer can still be read completely afterwards.
 */
export async function refusalInside(
  { framing, answers }: Wire,
  answer: Pick<UpstreamAnswer, 'header'> & { readonly body: Pick<AnswerBody, 'peek'> },
): Promise<ClassifiedError | undefined> {
  if (isEncoded(answer.header('content-encoding'))) return undefined
  const isStream = framing.isStream(answer.header('content-type'))
  const parser = framing.parser()
  const pieces: Uint8Array[] = []
  const until = performance.now() + HOLD_MS
  for (let size = 0; size <= HOLD_BYTES;) {
    const piece = await answer.body.peek(until - performance.now())
    if (piece === 'late') return undefined
    const isOver = piece === 'end'
    let texts: readonly string[] = []
    if (isStream) texts = (isOver ? parser.end() : parser.push(piece)).map(({ data }) => data)
    else if (isOver) texts = [Buffer.concat(pieces).toString('utf8')]
    else if (pieces.push(piece) === 1 && isNoError(piece)) return undefined
    for (const text of texts) {
      const value = parsedJson(text)
      const event = recordOf(Array.isArray(value) ? value[0] : value)
      const error = event && answers.errorIn(event)
      if (error !== undefined) return classifyProviderError({ body: error })
      if (event === undefined || !isStream || !answers.isPreamble(event)) return undefined
    }
    if (isOver) return undefined
    size += piece.length
  }
  return undefined
}

/** An error is recognisable at the beginning of a body; anything else is forwarded from its first piece on. */
const MAY_BE_ERROR = /"error"\s*:\s*[{"]|"(?:object|type)"\s*:\s*"error"/
const HEAD_BYTES = 4_096

function isNoError(piece: Uint8Array): boolean {
  const head = Buffer.from(piece.subarray(0, HEAD_BYTES)).toString('utf8')
  return head.length >= 16 && !MAY_BE_ERROR.test(head)
}
