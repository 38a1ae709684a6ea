import type { Codec, ModelResponse } from '../core/codec.ts'
import type { Framing } from '../formats/framing.ts'
import type { Wire } from '../formats/registry.ts'
import { copyDecoder } from './http/encoding.ts'
import { classifyProviderError, type ClassifiedError } from '../formats/overflow/classify.ts'
import { type Fields, parsedJson, recordOf } from '../core/values.ts'
import type { UpstreamAnswer } from './types.ts'

/** What an observer is told about the answer before its bytes come. */
interface AnswerFacts {
  readonly contentType: string
  readonly contentEncoding?: string | undefined
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

export function observeResponse({ codec, framing }: Wire, facts: AnswerFacts): ResponseObserver {
  const isStream = framing.isStream(facts.contentType)
  const reader = isStream ? streamed(codec, framing) : whole(codec)
  const limit = isStream ? MAX_STREAM_BYTES : MAX_BODY_BYTES
  const decoder = copyDecoder(facts.contentEncoding, limit, (bytes) => reader.push(bytes))
  const read = (isWhole: boolean | undefined): ModelResponse | undefined => {
    if (isWhole !== true) return undefined
    try {
      return reader.response()
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

interface Reading {
  push(bytes: Uint8Array): void
  response(): ModelResponse | undefined
}

function streamed(codec: Codec, framing: Framing): Reading {
  const parser = framing.parser()
  const reducer = codec.stream()
  return {
    push: (bytes) => parser.push(bytes).forEach((event) => reducer.push(event)),
    response() {
      parser.end().forEach((event) => reducer.push(event))
      return reducer.response()
    },
  }
}

function whole(codec: Codec): Reading {
  const chunks: Uint8Array[] = []
  return {
    push: (bytes) => void chunks.push(bytes),
    response: () => readWhole(codec, textOf(chunks)),
  }
}

/** Short answers come in one piece. */
function textOf(chunks: readonly Uint8Array[]): string {
  const [first, ...others] = chunks
  if (first === undefined || others.length > 0) return Buffer.concat(chunks).toString('utf8')
  return Buffer.from(first.buffer, first.byteOffset, first.byteLength).toString('utf8')
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

/** Looks at the pieces of an answer. `open`: nothing is decided yet. `fine`: it is an answer. */
interface Look {
  push(bytes: Uint8Array): void
  found(): 'open' | 'fine' | ClassifiedError
  end(): ClassifiedError | undefined
}

/**
 * The refusal that an answer with a good status turns out to be: an error event before the first word, or an error as the whole
 * body. Nothing of the answer is lost by looking.
 */
export async function refusalInside<B>(
  wire: Wire,
  answer: Pick<UpstreamAnswer<B>, 'header' | 'peek'>,
): Promise<ClassifiedError | undefined> {
  const look = wire.framing.isStream(answer.header('content-type')) ? lookAtEvents(wire) : lookAtBody(wire)
  const decoder = copyDecoder(answer.header('content-encoding'), LOOK_BYTES, (bytes) => look.push(bytes))
  if (decoder === undefined) return undefined
  const until = performance.now() + HOLD_MS
  for (let size = 0; ;) {
    const piece = await answer.peek(until - performance.now())
    if (piece === 'late') return undefined
    if (piece === 'end') return (await decoder.end()) ? look.end() : undefined
    decoder.push(piece)
    const flushing = decoder.flushed()
    if (flushing !== undefined) await flushing
    size += piece.length
    const found = look.found()
    if (found === 'fine' || size > HOLD_BYTES) return undefined
    if (found !== 'open') return found
  }
}

function lookAtEvents({ framing, answers }: Wire): Look {
  const parser = framing.parser()
  let found: ReturnType<Look['found']> = 'open'
  const see = (data: string): void => {
    if (found !== 'open') return
    const event = parse(data)
    const error = event === undefined ? undefined : answers.errorIn(event)
    if (error !== undefined) found = classifyProviderError({ body: error })
    else if (event === undefined || !answers.isPreamble(event)) found = 'fine'
  }
  return {
    push: (bytes) => parser.push(bytes).forEach(({ data }) => see(data)),
    found: () => found,
    end() {
      parser.end().forEach(({ data }) => see(data))
      return typeof found === 'string' ? undefined : found
    },
  }
}

/** An error names itself near the beginning of a body; everything else passes on at its first piece. */
const MAY_BE_ERROR = /"error"\s*:\s*[{"]|"(?:object|type)"\s*:\s*"error"/
const HEAD_BYTES = 4_096

function lookAtBody({ answers }: Wire): Look {
  const pieces: Uint8Array[] = []
  return {
    push: (bytes) => void pieces.push(bytes),
    found() {
      if (pieces.length > 1) return 'open'
      const head = pieces[0] === undefined ? undefined : Buffer.from(pieces[0].subarray(0, HEAD_BYTES)).toString('utf8')
      return head === undefined || head.length < 16 || MAY_BE_ERROR.test(head) ? 'open' : 'fine'
    },
    end() {
      const body = parse(Buffer.concat(pieces).toString('utf8'))
      const error = body === undefined ? undefined : answers.errorIn(body)
      return error === undefined ? undefined : classifyProviderError({ body: error })
    },
  }
}

function parse(text: string): Fields | undefined {
  const value = parsedJson(text)
  return recordOf(Array.isArray(value) ? value[0] : value)
}
