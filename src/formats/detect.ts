import { arrayOf, recordOf, stringOf, type Fields } from './kit/reading.ts'
import type { WireFormat } from './registry.ts'

/**
 * Says which wire a request body speaks, or undefined when it is none of ours. Three wires have a list of their own; chat
 * completions and Anthropic share the name `messages` and are told apart by what only one of them has.
 */
export function detectFormat(body: unknown): WireFormat | undefined {
  const fields = recordOf(typeof body === 'string' ? parsed(body) : body)
  if (fields === undefined) return undefined
  if (fields['contents'] !== undefined || recordOf(fields['request'])?.['contents'] !== undefined) return 'gemini'
  if (fields['messages'] !== undefined) return isAnthropic(fields) ? 'anthropic-messages' : 'openai-chat'
  const isResponses = ['input', 'previous_response_id', 'conversation', 'prompt'].some(
    (key) => fields[key] !== undefined,
  )
  return isResponses ? 'openai-responses' : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const ANTHROPIC_KEYS = [
  'system',
  'anthropic_version',
  'anthropic_beta',
  'stop_sequences',
  'thinking',
  'context_management',
]
const CHAT_KEYS = (
  'max_completion_tokens response_format stream_options functions function_call n stop reasoning_effort ' +
  'frequency_penalty presence_penalty logprobs seed parallel_tool_calls'
).split(' ')
const ANTHROPIC_BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'image', 'document'])
const CHAT_ROLES = new Set(['system', 'developer', 'tool', 'function'])

function isAnthropic(body: Fields): boolean {
  const messages = (arrayOf(body['messages']) ?? []).map((message) => recordOf(message) ?? {})
  const tools = (arrayOf(body['tools']) ?? []).map((tool) => recordOf(tool) ?? {})
  if (tools.some((tool) => tool['input_schema'] !== undefined)) return true
  if (tools.some((tool) => tool['function'] !== undefined)) return false
  // One block or one role that the other wire does not have settles it.
  for (const message of messages) {
    if (message['tool_calls'] !== undefined || CHAT_ROLES.has(stringOf(message['role']) ?? '')) return false
    for (const value of arrayOf(message['content']) ?? []) {
      const type = stringOf(recordOf(value)?.['type']) ?? ''
      if (ANTHROPIC_BLOCKS.has(type)) return true
      if (type === 'image_url' || type === 'input_audio' || type === 'file') return false
    }
  }
  if (ANTHROPIC_KEYS.some((key) => body[key] !== undefined)) return true
  if (CHAT_KEYS.some((key) => body[key] !== undefined)) return false
  // Only the model's name is left: Anthropic's own API has bare names, gateways of the chat wire put a vendor in front.
  return /^(?:anthropic\.)?claude/.test(stringOf(body['model']) ?? '') && body['max_tokens'] !== undefined
}
