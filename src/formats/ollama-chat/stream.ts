import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, listOf, recordOf, stringOf } from '../../core/values.ts'
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
