import { classifyProviderError, type ClassifiedError } from '../../../formats/overflow/index.ts'
import { createSseParser } from '../../../formats/framing/sse.ts'
import { copyDecoder } from '../http/encoding.ts'
import type { UpstreamAnswer } from '../exchange.ts'

/** A refusal comes before the model runs; a client that waits longer than this for the first byte may give up. */
const HOLD_MS = 10_000
/** What stands before the first word is small, and stays small when it is unpacked. */
const HOLD_BYTES = 64 * 1024
const LOOK_BYTES = 1024 * 1024

type Json = Readonly<Record<string, unknown>>

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
  const isStream = (answer.header('content-type') ?? '').includes('text/event-stream')
  const look = isStream ? lookAtEvents(format) : lookAtBody()
  const decoder = copyDecoder(answer.header('content-encoding'), LOOK_BYTES, (bytes) => look.push(bytes))
  if (decoder === undefined) return undefined
  const until = performance.now() + HOLD_MS
  for (let size = 0; ;) {
    const piece = await answer.peek(until - performance.now())
    if (piece === 'late') return undefined
    if (piece === 'end') return (await decoder.end()) ? look.end() : undefined
    decoder.push(piece)
    await decoder.flushed()
    size += piece.length
    const found = look.found()
    if (found === 'fine' || size > HOLD_BYTES) return undefined
    if (found !== 'open') return found
  }
}

function lookAtEvents(format: string): Look {
  const parser = createSseParser()
  let found: ReturnType<Look['found']> = 'open'
  const see = (data: string): void => {
    if (found !== 'open') return
    const event = parse(data)
    const error = event === undefined ? undefined : errorIn(event)
    if (error !== undefined) found = classifyProviderError({ body: error })
    else if (event === undefined || !(IS_PREAMBLE[format]?.(event) ?? false)) found = 'fine'
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

function lookAtBody(): Look {
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
      const error = body === undefined ? undefined : errorIn(body)
      return error === undefined ? undefined : classifyProviderError({ body: error })
    },
  }
}

/** The error that an event or a body is about; undefined when it is about none. */
function errorIn(body: Json): unknown {
  if (typeof body['error'] === 'string' || isRecord(body['error'])) return body['error']
  if (body['object'] === 'error' || body['type'] === 'error') return body
  const { response } = body
  return body['type'] === 'response.failed' && isRecord(response) ? (response['error'] ?? response) : undefined
}

/** Events that carry nothing of the answer yet. */
const IS_PREAMBLE: Readonly<Record<string, (event: Json) => boolean>> = {
  'anthropic-messages': ({ type }) => type === 'message_start' || type === 'ping',
  'openai-responses': ({ type }) =>
    ['response.created', 'response.in_progress', 'response.queued', 'keepalive'].includes(String(type)),
  'openai-chat': ({ choices }) => Array.isArray(choices) && choices.every(isEmptyChoice),
  gemini: ({ candidates }) => candidates === undefined,
}

function isEmptyChoice(choice: unknown): boolean {
  if (!isRecord(choice) || (choice['finish_reason'] ?? null) !== null) return false
  const { delta } = choice
  if (!isRecord(delta)) return true
  return Object.entries(delta).every(([key, value]) => key === 'role' || value === '' || value === null)
}

function parse(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const first: unknown = Array.isArray(value) ? value[0] : value
    return isRecord(first) ? first : undefined
  } catch {
    return undefined
  }
}

const isRecord = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
