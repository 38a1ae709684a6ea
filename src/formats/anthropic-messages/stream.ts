import type { ModelResponse, StopReason, StreamEvent, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, numberOf, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { type MutableFields, Numbered, parseEvent } from '../kit/streams.ts'
import { amount, knownUsage, nested } from '../wire/wire.ts'
import { readBlock } from './decode.ts'

/** Input is reported without its cached part; ours includes it. */
function readUsage(fields: Fields): Usage {
  const cacheRead = amount(fields, 'cache_read_input_tokens')
  const lifetimes = nested(fields, 'cache_creation')
  const cacheWriteLong = amount(lifetimes, 'ephemeral_1h_input_tokens')
  const cacheWrite = Math.max(
    amount(fields, 'cache_creation_input_tokens'),
    cacheWriteLong + amount(lifetimes, 'ephemeral_5m_input_tokens'),
  )
  return {
    input: amount(fields, 'input_tokens') + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    cacheWriteLong: cacheWriteLong > 0 ? cacheWriteLong : undefined,
    output: amount(fields, 'output_tokens'),
    reasoning: 0,
  }
}

const STOPS: Readonly<Record<string, StopReason>> = {
  end_turn: 'end',
  stop_sequence: 'end',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  tool_use: 'tool-use',
  refusal: 'refusal',
  pause_turn: 'pause',
}

export function readResponse(body: unknown): ModelResponse {
  const message = recordOf(body) ?? {}
  const items = (arrayOf(message['content']) ?? []).map((value, block): Item => {
    const fields = recordOf(value) ?? {}
    const read = readBlock(
      fields,
      'assistant',
      () => JSON.stringify(fields),
      () => JSON.stringify(fields['input'] ?? {}),
    )
    return { id: `r.${block}`, role: 'assistant', message: 0, ...read }
  })
  return {
    items,
    stop: STOPS[stringOf(message['stop_reason']) ?? ''] ?? 'unknown',
    id: stringOf(message['id']),
    model: stringOf(message['model']),
    usage: knownUsage(readUsage, message['usage']),
  }
}

/** Puts a streamed message together again. Text arrives in pieces that are joined once, at the end. */
export function stream(): StreamReducer {
  let message: MutableFields = {}
  let usage: MutableFields = {}
  const blocks = new Numbered<{ start: MutableFields; pieces: Map<string, string[]> }>()
  // Plain fields: an object with getters of its own would be kept, with the whole answer, until the next full collection.
  const seen: { done: boolean; error?: unknown } = { done: false }

  const append = (index: number, field: string, piece: unknown): void => {
    const block = blocks.get(index)
    if (block === undefined || typeof piece !== 'string') return
    const pieces = block.pieces.get(field)
    if (pieces === undefined) block.pieces.set(field, [piece])
    else pieces.push(piece)
  }

  const onDelta = (event: Fields): void => {
    const index = numberOf(event['index']) ?? -1
    const delta = recordOf(event['delta']) ?? {}
    if (delta['type'] === 'text_delta') append(index, 'text', delta['text'])
    else if (delta['type'] === 'thinking_delta') append(index, 'thinking', delta['thinking'])
    else if (delta['type'] === 'signature_delta') append(index, 'signature', delta['signature'])
    else if (delta['type'] === 'input_json_delta') append(index, 'input', delta['partial_json'])
  }

  return Object.assign(seen, {
    push({ data }: StreamEvent): void {
      const event = parseEvent(data)
      const type = stringOf(event?.['type'])
      if (event === undefined) return
      if (type === 'message_start') {
        message = { ...recordOf(event['message']) }
        usage = { ...recordOf(message['usage']) }
      } else if (type === 'content_block_start') {
        const start = { ...recordOf(event['content_block']) }
        blocks.set(numberOf(event['index']) ?? blocks.size, { start, pieces: new Map() })
      } else if (type === 'content_block_delta') onDelta(event)
      else if (type === 'message_delta') {
        message = { ...message, ...recordOf(event['delta']) }
        // The closing usage is cumulative and may leave out what the opening one already said.
        for (const [key, value] of Object.entries(recordOf(event['usage']) ?? {}))
          if (value !== null) usage[key] = value
      } else if (type === 'message_stop') seen.done = true
      else if (type === 'error') seen.error = event['error'] ?? event
    },
    response: (): ModelResponse => readResponse({ ...message, usage, content: blocks.inOrder().map(finishBlock) }),
  })
}

function finishBlock({ start, pieces }: { start: MutableFields; pieces: Map<string, string[]> }): MutableFields {
  const block: MutableFields = { ...start }
  for (const [field, parts] of pieces) {
    const text = parts.join('')
    block[field] = field === 'input' ? parseInput(text, start['input']) : (stringOf(start[field]) ?? '') + text
  }
  return block
}

/** A cut stream leaves half an argument object; what arrived before it is still worth recording. */
function parseInput(text: string, start: unknown): unknown {
  if (text === '') return start
  try {
    return JSON.parse(text)
  } catch {
    return { partial: text }
  }
}
