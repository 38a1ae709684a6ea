import type { Codec, ModelResponse } from '../../core/codec.ts'
import type { Framing } from '../../formats/framing.ts'
import { wireOf } from '../../formats/registry.ts'
import { copyDecoder } from '../http/encoding.ts'

/** What an observer is told about the answer before its bytes come. */
export interface AnswerFacts {
  readonly contentType: string
  readonly contentEncoding?: string | undefined
}

/** Reads an answer while its bytes pass by. Never throws and never changes a byte. */
export interface ResponseObserver {
  chunk(bytes: Uint8Array): void
  /** The answer is complete, or was cut off; undefined when nothing could be made of it. What came packed takes its time. */
  end(): ModelResponse | undefined | Promise<ModelResponse | undefined>
}

/** Unpacked. A body that is no stream is kept until its end to be read, and a stream tells what it says many times over. */
const MAX_BODY_BYTES = 16 * 1024 * 1024
const MAX_STREAM_BYTES = 256 * 1024 * 1024

export function observeResponse(codec: Codec, facts: AnswerFacts): ResponseObserver {
  const { framing } = wireOf(codec.format)
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
