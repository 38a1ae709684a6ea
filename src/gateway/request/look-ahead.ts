import { classifyProviderError, type ClassifiedError } from '../../formats/overflow/classify.ts'
import { type Fields, parsedJson, recordOf } from '../../core/values.ts'
import { wireOf, type Wire } from '../../formats/registry.ts'
import { copyDecoder } from '../http/encoding.ts'
import type { UpstreamAnswer } from '../exchange-types.ts'

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
  format: string,
  answer: Pick<UpstreamAnswer<B>, 'header' | 'peek'>,
): Promise<ClassifiedError | undefined> {
  const wire = wireOf(format)
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
