import type { Codec, ModelResponse } from '../../core/codec.ts'
import { createSseParser } from '../../formats/sse.ts'

/** Reads an answer while its bytes pass by. Never throws and never changes a byte. */
export interface ResponseObserver {
  chunk(bytes: Uint8Array): void
  /** The answer is complete, or was cut off: what arrived is recorded. */
  end(): Promise<void>
}

/** A body that is no stream is kept until its end to be read; longer ones than this are not. */
const MAX_BODY_BYTES = 64 * 1024 * 1024

export function observeResponse(
  codec: Codec,
  contentType: string,
  status: number,
  done: (answer: ModelResponse | undefined) => Promise<void>,
): ResponseObserver {
  if (status >= 400) return { chunk: () => undefined, end: () => done(undefined) }
  return contentType.includes('text/event-stream') ? streamed(codec, done) : whole(codec, done)
}

function streamed(codec: Codec, done: (answer: ModelResponse | undefined) => Promise<void>): ResponseObserver {
  const parser = createSseParser()
  const reducer = codec.stream()
  let broken = false
  const guarded = (work: () => void): void => {
    if (broken) return
    try {
      work()
    } catch {
      broken = true
    }
  }
  return {
    chunk: (bytes) => guarded(() => parser.push(bytes).forEach((event) => reducer.push(event))),
    end() {
      guarded(() => parser.end().forEach((event) => reducer.push(event)))
      return done(broken ? undefined : reducer.response())
    },
  }
}

function whole(codec: Codec, done: (answer: ModelResponse | undefined) => Promise<void>): ResponseObserver {
  const chunks: Uint8Array[] = []
  let size = 0
  return {
    chunk(bytes) {
      size += bytes.length
      if (size <= MAX_BODY_BYTES) chunks.push(bytes)
    },
    end() {
      try {
        return done(
          size > MAX_BODY_BYTES ? undefined : codec.readResponse(JSON.parse(Buffer.concat(chunks).toString('utf8'))),
        )
      } catch {
        return done(undefined)
      }
    },
  }
}
