import type { ModelResponse, StopReason } from '../../core/codec.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { defined } from '../kit/reading.ts'
import { knownUsage } from '../wire/usage.ts'
import { partsOf } from './decode.ts'
import { usage } from './usage.ts'

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
    ...defined({ model: stringOf(response['model']), usage: knownUsage(usage, response) }),
  }
}
