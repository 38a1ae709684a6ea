import type { ModelResponse, StreamEvent, StreamReducer } from '../../core/codec.ts'
import { listOf, recordOf } from '../../core/values.ts'
import { parseEvent, Pieces, type Fields } from '../kit/pieces.ts'
import { readResponse } from './response.ts'

/** Puts a streamed answer together again: each line has a piece of the message, the last one the counts. */
export function stream(): StreamReducer {
  const text = new Pieces()
  const calls: unknown[] = []
  let head: Fields = {}
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
      readResponse({ ...head, message: { ...text.under(''), ...(calls.length > 0 && { tool_calls: calls }) } }),
  })
}
