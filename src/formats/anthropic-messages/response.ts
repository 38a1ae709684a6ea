import type { ModelResponse, StopReason } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf, defined } from '../kit/reading.ts'
import { readBlock } from './blocks.ts'
import { knownUsage } from '../wire/usage.ts'
import { usage } from './usage.ts'

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
    ...defined({
      id: stringOf(message['id']),
      model: stringOf(message['model']),
      usage: knownUsage(usage, message['usage']),
    }),
  }
}
