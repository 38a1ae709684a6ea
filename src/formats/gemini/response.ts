import type { ModelResponse, StopReason } from '../../core/codec.ts'
import type { Item } from '../../core/item.ts'
import { numberOf, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf, defined } from '../kit/reading.ts'
import { readPart } from './read-part.ts'
import { knownUsage } from '../wire/usage.ts'
import { usage } from './usage.ts'
import { valueAt } from './source.ts'

type Fields = Readonly<Record<string, unknown>>

const STOPS: Readonly<Record<string, StopReason>> = {
  STOP: 'end',
  MAX_TOKENS: 'length',
  SAFETY: 'refusal',
  RECITATION: 'refusal',
  LANGUAGE: 'refusal',
  BLOCKLIST: 'refusal',
  PROHIBITED_CONTENT: 'refusal',
  SPII: 'refusal',
  IMAGE_SAFETY: 'refusal',
  IMAGE_PROHIBITED_CONTENT: 'refusal',
  IMAGE_RECITATION: 'refusal',
  MALFORMED_FUNCTION_CALL: 'error',
  UNEXPECTED_TOOL_CALL: 'error',
  TOO_MANY_TOOL_CALLS: 'error',
  OTHER: 'error',
}

/** Code Assist wraps the answer as it wraps the request. */
export function unwrap(body: unknown): Fields {
  const fields = recordOf(body) ?? {}
  return recordOf(fields['response']) ?? fields
}

export function readResponse(body: unknown): ModelResponse {
  const response = unwrap(body)
  const candidate = recordOf(arrayOf(response['candidates'])?.[0]) ?? {}
  const parts = arrayOf(recordOf(candidate['content'])?.['parts']) ?? []
  const items = parts.map((value, at): Item => {
    const part = recordOf(value) ?? {}
    return { id: `r.${at}`, message: 0, ...readPart(part, 'assistant', (...keys) => rawAt(part, keys)) }
  })
  const blocked = valueAt(recordOf(valueAt(response, 'promptFeedback')), 'blockReason') !== undefined
  const stop = blocked ? 'refusal' : (STOPS[stringOf(valueAt(candidate, 'finishReason')) ?? ''] ?? 'unknown')
  return {
    items,
    // This wire has no finish reason of its own for calls.
    stop: stop === 'end' && items.some((item) => item.kind === 'call' && item.serverSide !== true) ? 'tool-use' : stop,
    ...(ranHostedTools(response, candidate) && { ranHostedTools: true as const }),
    ...defined({
      id: stringOf(valueAt(response, 'responseId')),
      model: stringOf(valueAt(response, 'modelVersion')),
      usage: knownUsage(usage, valueAt(response, 'usageMetadata')),
    }),
  }
}

/** An answer that was grounded in a search or in pages: what they said is in its count. Empty marks stand in many that were not. */
function ranHostedTools(response: Fields, candidate: Fields): boolean {
  const found = TOOL_MARKS.map((key) => recordOf(valueAt(candidate, key)))
  const counted = numberOf(valueAt(recordOf(valueAt(response, 'usageMetadata')), 'toolUsePromptTokenCount')) ?? 0
  return counted > 0 || found.some((mark) => mark !== undefined && Object.keys(mark).length > 0)
}

export const TOOL_MARKS = ['groundingMetadata', 'urlContextMetadata'] as const

function rawAt(part: Fields, keys: readonly string[]): string {
  let at: unknown = part
  for (const key of keys) at = valueAt(recordOf(at), key)
  return JSON.stringify(at) ?? ''
}
