import type { Usage } from '../../core/usage.ts'
import { isRecord, numberOf } from '../../core/values.ts'
import { at } from './values.ts'

/** Anthropic reports input without cached tokens. */
export function anthropicUsage(usage: unknown): Usage | undefined {
  const plain = numberOf(at(usage, 'input_tokens'))
  if (plain === undefined) return undefined
  const cacheRead = numberOf(at(usage, 'cache_read_input_tokens')) ?? 0
  const cacheWrite = numberOf(at(usage, 'cache_creation_input_tokens')) ?? 0
  const long = numberOf(at(usage, 'cache_creation', 'ephemeral_1h_input_tokens')) ?? 0
  return {
    input: plain + cacheRead + cacheWrite,
    cacheRead,
    cacheWrite,
    ...(long > 0 && { cacheWriteLong: long }),
    output: numberOf(at(usage, 'output_tokens')) ?? 0,
    reasoning: 0,
  }
}

/** OpenAI's cached tokens are inside the prompt count; Chat and Responses name the fields differently. */
export function openaiUsage(usage: unknown): Usage | undefined {
  const input = numberOf(at(usage, 'prompt_tokens')) ?? numberOf(at(usage, 'input_tokens'))
  if (!isRecord(usage) || input === undefined) return undefined
  const details = usage['prompt_tokens_details'] ?? usage['input_tokens_details']
  const outputDetails = usage['completion_tokens_details'] ?? usage['output_tokens_details']
  return {
    input,
    cacheRead: numberOf(at(details, 'cached_tokens')) ?? numberOf(usage['cached_input_tokens']) ?? 0,
    cacheWrite: 0,
    output: numberOf(usage['completion_tokens']) ?? numberOf(usage['output_tokens']) ?? 0,
    reasoning: numberOf(at(outputDetails, 'reasoning_tokens')) ?? numberOf(usage['reasoning_output_tokens']) ?? 0,
  }
}
