import type { ModelResponse, StreamEvent, StreamReducer } from '../../core/codec.ts'
import { Numbered, parseEvent, type Fields } from '../kit/pieces.ts'
import { numberOf, recordOf, stringOf } from '../../core/values.ts'
import { readResponse } from './response.ts'

/** Puts a streamed message together again. Text arrives in pieces that are joined once, at the end. */
export function stream(): StreamReducer {
  let message: Fields = {}
  let usage: Fields = {}
  const blocks = new Numbered<{ start: Fields; pieces: Map<string, string[]> }>()
  // Plain fields: an object with getters of its own would be kept, with the whole answer, until the next full collection.
  const seen: { done: boolean; error?: unknown } = { done: false }

  const append = (index: number, field: string, piece: unknown): void => {
    const block = blocks.get(index)
    if (block === undefined || typeof piece !== 'string') return
    const pieces = block.pieces.get(field)
    if (pieces === undefined) block.pieces.set(field, [piece])
    else pieces.push(piece)
  }

  const onDelta = (event: Readonly<Fields>): void => {
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

function finishBlock({ start, pieces }: { start: Fields; pieces: Map<string, string[]> }): Fields {
  const block: Fields = { ...start }
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
