import type { ModelResponse, StopReason } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf, defined } from '../kit/reading.ts'
import { repeatable } from './held.ts'
import { readItem, readPart, type RoledCore } from './items.ts'
import { knownUsage } from '../wire/usage.ts'
import { usage } from './usage.ts'
import { typeOf } from './source.ts'

type Fields = Readonly<Record<string, unknown>>

export function readResponse(body: unknown): ModelResponse {
  const response = recordOf(body) ?? {}
  const output = (arrayOf(response['output']) ?? []).map((value) => recordOf(value) ?? {})
  const items = output.flatMap((fields, message): Item[] =>
    readOutputItem(fields).map((core, at) => ({ id: `r${message}.${at}`, message, ...core })),
  )
  return {
    items,
    stop: stopOf(response, output, items),
    ...defined({
      id: stringOf(response['id']),
      model: stringOf(response['model']),
      usage: knownUsage(usage, response['usage']),
      repeatable: repeatable(response),
    }),
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
