import type { ModelResponse, StreamEvent, StreamReducer } from '../../core/codec.ts'
import { Numbered, parseEvent, Pieces, type Fields } from '../kit/pieces.ts'
import { numberOf, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { readResponse } from './response.ts'

/** One output item while it grows. `done` holds it whole, once the server has sent it so. */
interface Growing {
  readonly start: Readonly<Fields>
  readonly pieces: Pieces
  done?: Readonly<Fields>
}

/** Member that each kind of delta belongs to; the indexed ones are parts of a list. */
const DELTAS: Readonly<Record<string, { readonly list?: string; readonly field: string; readonly part?: string }>> = {
  'response.output_text.delta': { list: 'content', field: 'text', part: 'output_text' },
  'response.refusal.delta': { list: 'content', field: 'refusal', part: 'refusal' },
  'response.reasoning_text.delta': { list: 'content', field: 'text', part: 'reasoning_text' },
  'response.reasoning_summary_text.delta': { list: 'summary', field: 'text', part: 'summary_text' },
  'response.function_call_arguments.delta': { field: 'arguments' },
  'response.mcp_call_arguments.delta': { field: 'arguments' },
  'response.custom_tool_call_input.delta': { field: 'input' },
  'response.code_interpreter_call_code.delta': { field: 'code' },
}

const ENDS = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Puts a streamed response together again. The closing event repeats it whole; a cut stream is rebuilt from its deltas. */
export function stream(): StreamReducer {
  let response: Readonly<Fields> = {}
  const items = new Numbered<Growing>()
  // Plain fields: an object with getters of its own would be kept, with the whole answer, until the next full collection.
  const seen: { done: boolean; error?: unknown } = { done: false }

  const indexOf = (event: Readonly<Fields>): number => numberOf(event['output_index']) ?? items.size
  const itemAt = (event: Readonly<Fields>): Growing =>
    items.get(indexOf(event)) ?? items.set(indexOf(event), { start: {}, pieces: new Pieces() })

  const onEvent = (type: string, event: Readonly<Fields>): void => {
    const delta = DELTAS[type]
    if (delta !== undefined) {
      const at = numberOf(event[delta.list === 'summary' ? 'summary_index' : 'content_index']) ?? 0
      const name = delta.list === undefined ? delta.field : `${delta.list} ${at} ${delta.part}`
      itemAt(event).pieces.add(name, event['delta'])
    } else if (type === 'response.output_item.added') {
      items.set(indexOf(event), { start: recordOf(event['item']) ?? {}, pieces: new Pieces() })
    } else if (type === 'response.output_item.done') {
      const item = recordOf(event['item'])
      if (item !== undefined) itemAt(event).done = item
    } else if (type === 'error') seen.error = event['error'] ?? event
    else if (recordOf(event['response']) !== undefined) {
      response = { ...response, ...recordOf(event['response']) }
      if (type === 'response.failed') seen.error = response['error'] ?? response
      if (ENDS.has(type)) seen.done = true
    }
  }

  return Object.assign(seen, {
    push({ event: name, data }: StreamEvent): void {
      if (data.trim() === '[DONE]') {
        seen.done = true
        return
      }
      const event = parseEvent(data)
      if (event !== undefined) onEvent(stringOf(event['type']) ?? name ?? '', event)
    },
    response: (): ModelResponse => {
      const closing = arrayOf(response['output']) ?? []
      // Some servers leave the closing list empty; the items were sent one by one then.
      const output = closing.length > 0 ? closing : items.inOrder().map(finishItem)
      return readResponse({ ...response, output })
    },
  })
}

function finishItem({ start, pieces, done }: Growing): Readonly<Fields> {
  if (done !== undefined) return done
  const item: Fields = { ...start }
  const lists = new Map<string, Numbered<unknown>>()
  for (const [name, text] of Object.entries(pieces.under(''))) {
    const [list = '', at, type] = name.split(' ')
    if (type === undefined) {
      item[name] = (stringOf(start[name]) ?? '') + String(text)
      continue
    }
    const parts = lists.get(list) ?? new Numbered<unknown>()
    lists.set(list, parts)
    parts.set(Number(at), { type, [type === 'refusal' ? 'refusal' : 'text']: text })
  }
  for (const [list, parts] of lists) item[list] = parts.inOrder()
  return item
}
