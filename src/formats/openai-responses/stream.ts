import type { ModelResponse, StopReason, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { amount, inOrder, knownUsage, type MutableFields, nested, Pieces, reducer } from '../kit/streams.ts'
import { readItem, readPart, type RoledCore, typeOf } from './decode.ts'
import { repeatable } from './encode.ts'

/** The cached count is inside the input count. The details tell it from another vendor's report with the same names. */
function readUsage(fields: Fields): Usage {
  const input = nested(fields, 'input_tokens_details')
  return {
    input: amount(fields, 'input_tokens'),
    cacheRead: amount(input, 'cached_tokens'),
    cacheWrite: amount(input, 'cache_write_tokens'),
    output: amount(fields, 'output_tokens'),
    reasoning: amount(nested(fields, 'output_tokens_details'), 'reasoning_tokens'),
  }
}

export function readResponse(body: unknown): ModelResponse {
  const response = recordOf(body) ?? {}
  const output = (arrayOf(response['output']) ?? []).map((value) => recordOf(value) ?? {})
  const items = output.flatMap((fields, message): Item[] =>
    readOutputItem(fields).map((core, at) => ({ id: `r${message}.${at}`, message, ...core })),
  )
  return {
    items,
    stop: stopOf(response, output, items),
    id: stringOf(response['id']),
    model: stringOf(response['model']),
    usage: knownUsage(readUsage, response['usage']),
    repeatable: repeatable(response),
  }
}

function readOutputItem(fields: Fields): RoledCore[] {
  if (typeOf(fields) !== 'message') {
    return [readItem(fields, (key) => JSON.stringify(key === undefined ? fields : fields[key]) ?? '')]
  }
  return (arrayOf(fields['content']) ?? []).map((value) => {
    const part = recordOf(value) ?? {}
    return readPart(part, 'assistant', () => JSON.stringify(part))
  })
}

function stopOf(response: Fields, output: readonly Fields[], items: readonly Item[]): StopReason {
  if (response['status'] === 'failed' || response['status'] === 'cancelled') return 'error'
  if (response['status'] === 'incomplete') {
    const reason = recordOf(response['incomplete_details'])?.['reason']
    return reason === 'max_output_tokens' ? 'length' : reason === 'content_filter' ? 'refusal' : 'unknown'
  }
  const parts = output.flatMap((fields) => arrayOf(fields['content']) ?? [])
  if (parts.some((part) => recordOf(part)?.['type'] === 'refusal')) return 'refusal'
  if (items.some((item) => item.kind === 'call' && item.serverSide !== true)) return 'tool-use'
  return response['status'] === 'completed' ? 'end' : 'unknown'
}

/** One output item while it grows. `done` holds it whole, once the server has sent it so. */
interface Growing {
  readonly start: Fields
  readonly pieces: Pieces
  readonly done?: Fields | undefined
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
  let response: Fields = {}
  const items = new Map<number, Growing>()
  const body = (): Fields => {
    const closing = arrayOf(response['output']) ?? []
    // Some servers leave the closing list empty; the items were sent one by one then.
    return { ...response, output: closing.length > 0 ? closing : inOrder(items).map(finishItem) }
  }
  return reducer(readResponse, body, (event, seen, name) => {
    const type = stringOf(event['type']) ?? name ?? ''
    const index = numberOf(event['output_index']) ?? items.size
    const item = items.get(index) ?? { start: {}, pieces: new Pieces() }
    const delta = DELTAS[type]
    if (delta !== undefined) {
      const at = numberOf(event[delta.list === 'summary' ? 'summary_index' : 'content_index']) ?? 0
      item.pieces.add(delta.list === undefined ? delta.field : `${delta.list} ${at} ${delta.part}`, event['delta'])
      items.set(index, item)
    } else if (type === 'response.output_item.added') {
      items.set(index, { start: recordOf(event['item']) ?? {}, pieces: new Pieces() })
    } else if (type === 'response.output_item.done') {
      items.set(index, { ...item, done: recordOf(event['item']) ?? item.done })
    } else if (recordOf(event['response']) !== undefined) {
      response = { ...response, ...recordOf(event['response']) }
      if (type === 'response.failed') seen.error = response['error'] ?? response
      if (ENDS.has(type)) seen.done = true
    }
  })
}

function finishItem({ start, pieces, done }: Growing): Fields {
  if (done !== undefined) return done
  const item: MutableFields = { ...start }
  const lists = new Map<string, Map<number, unknown>>()
  for (const [name, text] of Object.entries(pieces.under(''))) {
    const [list = '', at, type] = name.split(' ')
    if (type === undefined) {
      item[name] = (stringOf(start[name]) ?? '') + String(text)
      continue
    }
    const parts = lists.get(list) ?? new Map<number, unknown>()
    lists.set(list, parts)
    parts.set(Number(at), { type, [type === 'refusal' ? 'refusal' : 'text']: text })
  }
  for (const [list, parts] of lists) item[list] = inOrder(parts)
  return item
}
