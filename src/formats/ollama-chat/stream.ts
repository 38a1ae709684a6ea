import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, listOf, recordOf, stringOf } from '../../core/values.ts'
import type { Frame, Framing } from '../framing.ts'
import { type MutableFields, parseEvent, Pieces } from '../kit/streams.ts'
import { amount, knownUsage } from '../wire/wire.ts'
import { partsOf } from './decode.ts'

/** The counts stand beside the message, in the last line of a stream. Nothing is said about what was cached. */
const readUsage = (fields: Fields): Usage => ({
  input: amount(fields, 'prompt_eval_count'),
  cacheRead: 0,
  cacheWrite: 0,
  output: amount(fields, 'eval_count'),
  reasoning: 0,
})

const STOPS: Readonly<Record<string, StopReason>> = {
  stop: 'end',
  length: 'length',
  load: 'unknown',
  unload: 'unknown',
}

export function readResponse(body: unknown): ModelResponse {
  const response = recordOf(body) ?? {}
  const message = recordOf(response['message']) ?? {}
  const calls = Array.isArray(message['tool_calls']) ? (message['tool_calls'] as readonly unknown[]) : []
  const items = partsOf(message, 'assistant', (at) =>
    JSON.stringify(recordOf(recordOf(calls[at])?.['function'])?.['arguments'] ?? {}),
  ).map(({ core }, at) => ({ id: `r.${at}`, role: 'assistant' as const, message: 0, ...core }))
  const stop = STOPS[stringOf(response['done_reason']) ?? ''] ?? (response['error'] === undefined ? 'unknown' : 'error')
  return {
    items,
    // It says `stop` after a turn that calls tools as well.
    stop: stop === 'end' && items.some(({ kind }) => kind === 'call') ? 'tool-use' : stop,
    model: stringOf(response['model']),
    usage: knownUsage(readUsage, response),
  }
}

const TYPE = 'application/x-ndjson'
/** A server that never ends a line must not fill the memory. */
const MOST_CHARACTERS = 64 * 1024 * 1024

/** One JSON object per line. */
export const jsonLines: Framing = {
  contentType: TYPE,
  accept: TYPE,
  isStream: (contentType = '') => contentType.includes('ndjson'),
  parser() {
    const { push, end } = frames()
    const events = (read: readonly Frame[]): StreamEvent[] => read.flatMap(({ event }) => event ?? [])
    return {
      push: (chunk) => events(push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk)),
      end: () => events(end()),
    }
  },
  frames,
  write: ({ data }) => `${data}\n`,
  keepAlive: '',
}

function frames(): { push(bytes: Uint8Array): Frame[]; end(): Frame[] } {
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  // The open line, in the pieces it arrived in: joining once per line keeps a line of many chunks linear.
  let open: string[] = []
  let size = 0
  const take = (text: string): Frame[] => {
    const read: Frame[] = []
    let from = 0
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', from)) {
      read.push(frameOf(open.join('') + text.slice(from, at + 1)))
      open = []
      size = 0
      from = at + 1
    }
    if (from < text.length) {
      open.push(from === 0 ? text : text.slice(from))
      size += text.length - from
      if (size > MOST_CHARACTERS) throw new RangeError(`A line is longer than ${MOST_CHARACTERS} characters.`)
    }
    return read
  }
  return {
    push: (bytes) => take(decoder.decode(bytes, { stream: true })),
    end() {
      const read = take(decoder.decode())
      const rest = open.join('')
      open = []
      return rest === '' ? read : [...read, frameOf(rest)]
    },
  }
}

function frameOf(raw: string): Frame {
  const data = raw.trim()
  return { raw, event: data === '' ? undefined : { data } }
}

/** Puts a streamed answer together again: each line has a piece of the message, the last one the counts. */
export function stream(): StreamReducer {
  const text = new Pieces()
  const calls: unknown[] = []
  let head: MutableFields = {}
  // Plain fields: an object with getters of its own would be kept, with the whole answer, until the next full collection.
  const seen: { done: boolean; error?: unknown } = { done: false }
  return Object.assign(seen, {
    push({ data }: StreamEvent): void {
      const event = parseEvent(data)
      if (event === undefined) return
      if (event['error'] !== undefined && event['error'] !== null) {
        seen.error = event['error']
        return
      }
      const message = recordOf(event['message']) ?? {}
      text.add('content', message['content'])
      text.add('thinking', message['thinking'])
      // Calls come whole.
      calls.push(...listOf(message['tool_calls']))
      const { message: _, ...rest } = event
      head = { ...head, ...rest }
      if (event['done'] === true) seen.done = true
    },
    response: (): ModelResponse =>
      readResponse({ ...head, message: { ...text.under(''), tool_calls: calls.length > 0 ? calls : undefined } }),
  })
}
