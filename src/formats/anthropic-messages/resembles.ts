import { type Fields, recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'

const OWN_KEYS = ['system', 'anthropic_version', 'anthropic_beta', 'stop_sequences', 'thinking', 'context_management']
const CHAT_KEYS = (
  'max_completion_tokens response_format stream_options functions function_call n stop reasoning_effort ' +
  'frequency_penalty presence_penalty logprobs seed parallel_tool_calls'
).split(' ')
const OWN_BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking', 'image', 'document'])
const CHAT_ROLES = new Set(['system', 'developer', 'tool', 'function'])

/** Chat completions share the name `messages`; the two are told apart by what only one of them has. */
export const resembles = (body: Fields): 0 | 2 => (body['messages'] !== undefined && isOurs(body) ? 2 : 0)

function isOurs(body: Fields): boolean {
  const messages = (arrayOf(body['messages']) ?? []).map((message) => recordOf(message) ?? {})
  const tools = (arrayOf(body['tools']) ?? []).map((tool) => recordOf(tool) ?? {})
  if (tools.some((tool) => tool['input_schema'] !== undefined)) return true
  if (tools.some((tool) => tool['function'] !== undefined)) return false
  // One block or one role that the other wire does not have settles it.
  for (const message of messages) {
    if (message['tool_calls'] !== undefined || CHAT_ROLES.has(stringOf(message['role']) ?? '')) return false
    for (const value of arrayOf(message['content']) ?? []) {
      const type = stringOf(recordOf(value)?.['type']) ?? ''
      if (OWN_BLOCKS.has(type)) return true
      if (type === 'image_url' || type === 'input_audio' || type === 'file') return false
    }
  }
  if (OWN_KEYS.some((key) => body[key] !== undefined)) return true
  if (CHAT_KEYS.some((key) => body[key] !== undefined)) return false
  // Only the model's name is left: the vendor's own API has bare names, gateways of the chat wire put a vendor in front.
  return /^(?:anthropic\.)?claude/.test(stringOf(body['model']) ?? '') && body['max_tokens'] !== undefined
}
