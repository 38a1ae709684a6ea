import type { Usage } from '../core/usage.ts'

type Fields = Readonly<Record<string, unknown>>

/**
 * Normalised usage from what a provider reported, recognised by its field names. Anthropic and Bedrock report the prompt
 * without its cached part; OpenAI and Gemini include it. Undefined for nothing, and for all zeros: a server that counts nothing
 * sends zeros, and no request has no tokens.
 */
export function readUsage(reported: unknown): Usage | undefined {
  if (typeof reported !== 'object' || reported === null) return undefined
  const fields = reported as Fields
  const usage = readers.find((reader) => reader.fits(fields))?.read(fields)
  return usage === undefined || (usage.input === 0 && usage.output === 0) ? undefined : usage
}

/** Usage that says nothing is no usage. */
export const isKnownUsage = (usage: Usage | undefined): usage is Usage =>
  usage !== undefined && (usage.input > 0 || usage.output > 0)

/**
 * Usage from outside, as far as it is one: whole parts that cannot be told are unknown, and so is what they would add up to. Parts of the
 * prompt and of the answer that are not named count as none of it.
 */
export function checkedUsage(usage: Partial<Record<keyof Usage, unknown>> | undefined): Usage | undefined {
  if (usage === undefined || usage === null || !isAmount(usage.input) || !isAmount(usage.output)) return undefined
  const part = (value: unknown): number => (isAmount(value) ? value : 0)
  const { input, output } = usage
  return {
    input,
    cacheRead: Math.min(input, part(usage.cacheRead)),
    cacheWrite: Math.min(input, part(usage.cacheWrite)),
    ...(isAmount(usage.cacheWriteLong) && { cacheWriteLong: usage.cacheWriteLong }),
    output,
    reasoning: Math.min(output, part(usage.reasoning)),
  }
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0

/**
 * Merges what a stream reports piece by piece. Every vendor sends running totals, so the largest value of each field is the last
 * one; a later event that leaves a field out or sends zero takes nothing back.
 */
export function mergeReported(earlier: Fields, later: Fields): Fields {
  const merged: Record<string, unknown> = { ...earlier }
  for (const [name, value] of Object.entries(later)) {
    const before = merged[name]
    if (typeof value === 'number' && typeof before === 'number') merged[name] = Math.max(before, value)
    else if (isFields(value) && isFields(before)) merged[name] = mergeReported(before, value)
    else if (value !== null && value !== undefined) merged[name] = value
  }
  return merged
}

interface Reader {
  fits(fields: Fields): boolean
  read(fields: Fields): Usage
}

const has = (fields: Fields, name: string): boolean => typeof fields[name] === 'number'

const bedrock: Reader = {
  fits: (fields) => has(fields, 'inputTokens'),
  read: (fields) => {
    const cacheRead = amount(fields, 'cacheReadInputTokens')
    const cacheWrite = amount(fields, 'cacheWriteInputTokens')
    const input = amount(fields, 'inputTokens') + cacheRead + cacheWrite
    return { input, cacheRead, cacheWrite, output: amount(fields, 'outputTokens'), reasoning: 0 }
  },
}

const gemini: Reader = {
  fits: (fields) => has(fields, 'promptTokenCount') || has(fields, 'candidatesTokenCount'),
  read: (fields) => {
    const reasoning = amount(fields, 'thoughtsTokenCount')
    return {
      // Results of Google's own tools are billed as prompt beside it.
      input: amount(fields, 'promptTokenCount') + amount(fields, 'toolUsePromptTokenCount'),
      cacheRead: amount(fields, 'cachedContentTokenCount'),
      cacheWrite: 0,
      output: amount(fields, 'candidatesTokenCount') + reasoning,
      reasoning,
    }
  },
}

const chat: Reader = {
  fits: (fields) => has(fields, 'prompt_tokens') || has(fields, 'completion_tokens'),
  read: (fields) => {
    const prompt = nested(fields, 'prompt_tokens_details')
    return {
      input: amount(fields, 'prompt_tokens'),
      cacheRead: amount(prompt, 'cached_tokens'),
      cacheWrite: amount(prompt, 'cache_write_tokens'),
      output: amount(fields, 'completion_tokens'),
      reasoning: amount(nested(fields, 'completion_tokens_details'), 'reasoning_tokens'),
    }
  },
}

const responses: Reader = {
  fits: (fields) => isFields(fields['input_tokens_details']) || isFields(fields['output_tokens_details']),
  read: (fields) => {
    const input = nested(fields, 'input_tokens_details')
    return {
      input: amount(fields, 'input_tokens'),
      cacheRead: amount(input, 'cached_tokens'),
      cacheWrite: amount(input, 'cache_write_tokens'),
      output: amount(fields, 'output_tokens'),
      reasoning: amount(nested(fields, 'output_tokens_details'), 'reasoning_tokens'),
    }
  },
}

const anthropic: Reader = {
  fits: (fields) => has(fields, 'input_tokens') || has(fields, 'output_tokens'),
  read: (fields) => {
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
      ...(cacheWriteLong > 0 && { cacheWriteLong }),
      output: amount(fields, 'output_tokens'),
      reasoning: 0,
    }
  },
}

const ollama: Reader = {
  fits: (fields) => has(fields, 'prompt_eval_count') || has(fields, 'eval_count'),
  read: (fields) => ({
    input: amount(fields, 'prompt_eval_count'),
    cacheRead: 0,
    cacheWrite: 0,
    output: amount(fields, 'eval_count'),
    reasoning: 0,
  }),
}

/** In order: the Responses API shares Anthropic's names but has details that Anthropic lacks. */
const readers: readonly Reader[] = [bedrock, gemini, chat, responses, anthropic, ollama]

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nested(fields: Fields, name: string): Fields {
  const value = fields[name]
  return isFields(value) ? value : {}
}

function amount(fields: Fields, name: string): number {
  const value = fields[name]
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : 0
}
