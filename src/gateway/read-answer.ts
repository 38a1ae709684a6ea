import { setTimeout as delay } from 'node:timers/promises'
import type { Codec, ModelResponse, StreamEvent } from '../core/codec.ts'
import { parsedJson, recordOf } from '../core/values.ts'
import { classifyProviderError, type ClassifiedError } from '../formats/overflow/classify.ts'
import type { Wire } from '../formats/registry.ts'
import { copyDecoder, unpacked } from './http/encoding.ts'
import type { Headers, UpstreamAnswer } from './types.ts'

/** The body of an upstream's answer. What was read ahead stays part of it. */
export class AnswerBody implements AsyncIterable<Uint8Array> {
  /** Pieces that were read ahead. */
  readonly ahead: Uint8Array[] = []
  readonly #read: () => Promise<IteratorResult<Uint8Array, unknown>>
  /** A read that nothing has been made of yet: one that came too late for `peek` is the next one's. */
  #reading: Promise<IteratorResult<Uint8Array, unknown>> | undefined
  readonly #cancel: () => void
  #isDiscarded = false

  constructor(read: () => Promise<IteratorResult<Uint8Array, unknown>>, cancel: () => void) {
    this.#read = read
    this.#cancel = cancel
  }

  /** Lets the connection go. */
  discard(): void {
    this.#isDiscarded = true
    this.#cancel()
  }

  /** Reads the next piece ahead; `late` when none came in time. */
  async peek(waitMs = Infinity): Promise<Uint8Array | 'end' | 'late'> {
    this.#reading ??= this.#read()
    if (waitMs !== Infinity) {
      const timer = new AbortController()
      const late = delay(Math.max(0, waitMs), undefined, { signal: timer.signal }).catch(() => undefined)
      const isInTime = await Promise.race([this.#reading.then(() => true), late]).finally(() => timer.abort())
      if (isInTime !== true) {
        // The next read hears of a failure.
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

  /** All of it as it travelled; undefined when it is longer than `limit`, and then all of it can still be passed on. */
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
        // A reader that is cancelled ends as if it had read everything.
        if (this.#isDiscarded) throw new Error('The answer was given up.')
        if (done === true) return
        yield value
      }
    } finally {
      this.discard()
    }
  }
}

/** An answer by its status, headers and body. */
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

/** Rewrites an answer piece by piece. What it throws breaks the answer off. */
export interface Rewrite {
  readonly contentType: string
  chunk(bytes: Uint8Array): Uint8Array
  end(): Uint8Array
}

/** The same answer with its bytes rewritten on the way. They come unpacked. */
export function rewritten({ status, headers, header, body }: UpstreamAnswer, rewrite: Rewrite): UpstreamAnswer {
  const { 'content-encoding': _encoding, 'content-length': _length, ...rest } = headers
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for await (const bytes of unpacked(body, header('content-encoding'))) {
      const piece = rewrite.chunk(bytes)
      if (piece.length > 0) yield piece
    }
    const last = rewrite.end()
    if (last.length > 0) yield last
  }
  const source = pieces()
  const own = new AnswerBody(
    () => source.next(),
    () => body.discard(),
  )
  return answerOf(status, { ...rest, 'content-type': rewrite.contentType }, own)
}

/** Reads an answer while its bytes pass by. Never throws and never changes a byte. */
interface ResponseObserver {
  chunk(bytes: Uint8Array): void
  /** The answer is complete, or was cut off; undefined when nothing could be made of it. What came packed takes its time. */
  end(): ModelResponse | undefined | Promise<ModelResponse | undefined>
}

/** Unpacked. A body that is no stream is kept until its end to be read, and a stream tells what it says many times over. */
const MAX_BODY_BYTES = 16 * 1024 * 1024
const MAX_STREAM_BYTES = 256 * 1024 * 1024

export function observeResponse(
  { codec, framing }: Wire,
  { header }: Pick<UpstreamAnswer, 'header'>,
): ResponseObserver {
  const isStream = framing.isStream(header('content-type'))
  const parser = framing.parser()
  const reducer = codec.stream()
  const pieces: Uint8Array[] = []
  const take = (bytes: Uint8Array): void => {
    if (isStream) for (const event of parser.push(bytes)) reducer.push(event)
    else pieces.push(bytes)
  }
  const decoder = copyDecoder(header('content-encoding'), isStream ? MAX_STREAM_BYTES : MAX_BODY_BYTES, take)
  const read = (isWhole: boolean | undefined): ModelResponse | undefined => {
    if (isWhole !== true) return undefined
    try {
      if (!isStream) return readWhole(codec, Buffer.concat(pieces).toString('utf8'))
      for (const event of parser.end()) reducer.push(event)
      return reducer.response()
    } catch {
      return undefined
    }
  }
  return {
    chunk: (bytes) => decoder?.push(bytes),
    end() {
      const ended = decoder?.end()
      return ended instanceof Promise ? ended.then(read) : read(ended)
    },
  }
}

/** A stream may come as one JSON array of chunks; each is read as an event. */
function readWhole(codec: Codec, text: string): ModelResponse {
  const body: unknown = JSON.parse(text)
  if (!Array.isArray(body)) return codec.readResponse(body)
  const reducer = codec.stream()
  for (const chunk of body) reducer.push({ data: JSON.stringify(chunk) })
  return reducer.response()
}

/** A refusal comes before the model runs; a client that waits longer than this for the first byte may give up. */
const HOLD_MS = 10_000
/** What stands before the first word is small, and stays small when it is unpacked. */
const HOLD_BYTES = 64 * 1024
const LOOK_BYTES = 1024 * 1024

/** `open`: nothing is decided yet. `fine`: it is an answer. */
type Found = 'open' | 'fine' | ClassifiedError

/**
 * The refusal that an answer with a good status turns out to be: an error event before the first word, or an error as the whole
 * body. Nothing of the answer is lost by looking.
 */
export async function refusalInside(
  wire: Wire,
  answer: Pick<UpstreamAnswer, 'header'> & { readonly body: Pick<AnswerBody, 'peek'> },
): Promise<ClassifiedError | undefined> {
  const isStream = wire.framing.isStream(answer.header('content-type'))
  const parser = wire.framing.parser()
  const pieces: Uint8Array[] = []
  let found = 'open' as Found
  const see = (events: readonly StreamEvent[]): void => {
    for (const { data } of events) if (found === 'open') found = lookAt(wire, data, isStream)
  }
  const decoder = copyDecoder(answer.header('content-encoding'), LOOK_BYTES, (bytes) => {
    if (isStream) see(parser.push(bytes))
    else if (pieces.push(bytes) === 1 && isNoError(bytes)) found = 'fine'
  })
  if (decoder === undefined) return undefined
  const until = performance.now() + HOLD_MS
  for (let size = 0; found === 'open' && size <= HOLD_BYTES;) {
    const piece = await answer.body.peek(until - performance.now())
    if (piece === 'late') return undefined
    if (piece === 'end') {
      if (!(await decoder.end())) return undefined
      see(isStream ? parser.end() : [{ data: Buffer.concat(pieces).toString('utf8') }])
      break
    }
    decoder.push(piece)
    const flushing = decoder.flushed()
    if (flushing !== undefined) await flushing
    size += piece.length
  }
  return typeof found === 'string' ? undefined : found
}

/** What an event of a stream says, or a whole body. */
function lookAt({ answers }: Wire, text: string, isStream: boolean): Found {
  const value = parsedJson(text)
  const event = recordOf(Array.isArray(value) ? value[0] : value)
  if (event === undefined) return 'fine'
  const error = answers.errorIn(event)
  if (error !== undefined) return classifyProviderError({ body: error })
  return isStream && answers.isPreamble(event) ? 'open' : 'fine'
}

/** An error names itself near the beginning of a body; everything else passes on at its first piece. */
const MAY_BE_ERROR = /"error"\s*:\s*[{"]|"(?:object|type)"\s*:\s*"error"/
const HEAD_BYTES = 4_096

function isNoError(piece: Uint8Array): boolean {
  const head = Buffer.from(piece.subarray(0, HEAD_BYTES)).toString('utf8')
  return head.length >= 16 && !MAY_BE_ERROR.test(head)
}
