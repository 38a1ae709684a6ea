import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, numberOf } from '../../core/values.ts'

/** Narrow reading of JSON that strangers wrote: a wrong type is an absent field. */

export const objectOf = (value: unknown): Fields => (isRecord(value) ? value : {})

/** Reads a field path without caring which step is missing. */
export function at(value: unknown, ...path: readonly string[]): unknown {
  let current = value
  for (const key of path) {
    if (!isRecord(current)) return undefined
    current = current[key]
  }
  return current
}

/** ISO text, seconds or milliseconds since 1970, as milliseconds. */
export function timeOf(value: unknown): number | undefined {
  if (typeof value === 'string') {
    const parsed = Date.parse(value)
    return Number.isNaN(parsed) ? undefined : parsed
  }
  const number = numberOf(value)
  // Seconds stay below this until the year 5138; milliseconds have been above it since 1973.
  return number === undefined ? undefined : number < 1e11 ? number * 1000 : number
}

/** Arguments travel as JSON text on some wires; text that is no JSON stays text. */
export function parsedArguments(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return value
  }
}

/** Text as it is, anything else as JSON; values nested too deep to be written are named instead. */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return value
  try {
    return JSON.stringify(value) ?? ''
  } catch {
    return '[nested too deep]'
  }
}

export function withoutKeys(value: Fields, keys: readonly string[]): Fields {
  if (!keys.some((key) => key in value)) return value
  return Object.fromEntries(Object.entries(value).filter(([key]) => !keys.includes(key)))
}

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
