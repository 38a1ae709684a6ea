import type { ModelResponse, StopReason, StreamReducer } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import type { Usage } from '../../core/usage.ts'
import { type Fields, numberOf, parsedJson, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { amount, inOrder, knownUsage, type MutableFields, nested, reducer, Pieces } from '../kit/streams.ts'
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

interface Block {
  readonly start: MutableFields
  readonly pieces: Pieces
}

/** The member of a block that each kind of delta brings a piece of. */
const DELTAS: Readonly<Record<string, string>> = {
  text_delta: 'text',
  thinking_delta: 'thinking',
  signature_delta: 'signature',
  input_json_delta: 'partial_json',
}

export function stream(): StreamReducer {
  let message: MutableFields = {}
  let usage: MutableFields = {}
  const blocks = new Map<number, Block>()
  const body = (): Fields => ({ ...message, usage, content: inOrder(blocks).map(finishBlock) })
  return reducer(readResponse, body, (event, seen) => {
    const { type } = event
    if (type === 'message_start') {
      message = { ...recordOf(event['message']) }
      usage = { ...recordOf(message['usage']) }
    } else if (type === 'content_block_start') {
      const start = { ...recordOf(event['content_block']) }
      blocks.set(numberOf(event['index']) ?? blocks.size, { start, pieces: new Pieces() })
    } else if (type === 'content_block_delta') {
      const block = blocks.get(numberOf(event['index']) ?? -1)
      const delta = recordOf(event['delta']) ?? {}
      const member = DELTAS[stringOf(delta['type']) ?? '']
      if (member !== undefined) block?.pieces.add(member, delta[member])
      else if (delta['type'] === 'citations_delta' && block !== undefined)
        block.start['citations'] = [...(arrayOf(block.start['citations']) ?? []), delta['citation']]
    } else if (type === 'message_delta') {
      message = { ...message, ...recordOf(event['delta']) }
      // The closing usage is cumulative and may leave out what the opening one already said.
      for (const [key, value] of Object.entries(recordOf(event['usage']) ?? {})) if (value !== null) usage[key] = value
    } else if (type === 'message_stop') seen.done = true
  })
}

function finishBlock({ start, pieces }: Block): MutableFields {
  const { partial_json: json, ...texts } = pieces.under('')
  const block: MutableFields = { ...start }
  for (const [key, text] of Object.entries(texts)) block[key] = (stringOf(start[key]) ?? '') + String(text)
  // A cut stream leaves half an argument object; what arrived before it is still worth recording.
  if (typeof json === 'string' && json !== '') block['input'] = parsedJson(json) ?? { partial: json }
  return block
}
