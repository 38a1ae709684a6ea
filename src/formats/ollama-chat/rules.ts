import { type Fields, isRecord, listOf, recordOf } from '../../core/values.ts'
import { messageAsGiven, checkBody, type RuleBook, type RuleContext, shown } from '../kit/rules.ts'

/** The server checks little except types: it truncates prompts that are too long, and passes unknown content to the template. */
export const OLLAMA_CHAT_RULES = {
  'body-shape': messageAsGiven,
  'message-shape': messageAsGiven,
  'message-role': (role: string) => `invalid role: ${role}, must be one of [system user assistant tool]`,
  'images-base64': 'illegal base64 data',
  'call-shape': messageAsGiven,
  'tool-shape': 'a tool has no function with a name',
  'options-shape': messageAsGiven,
} as const satisfies RuleBook

export type OllamaChatRule = keyof typeof OLLAMA_CHAT_RULES

type Context = RuleContext<typeof OLLAMA_CHAT_RULES>

const ROLES = new Set<unknown>(['system', 'user', 'assistant', 'tool'])
/** The server's definition of base64. The length is checked separately, because a pattern is slow on megabytes. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

export const checkOllamaChat = checkBody(OLLAMA_CHAT_RULES, 'The body is not an object.', (context) => {
  const { body, found } = context
  const { model, messages = [], tools } = body
  if (typeof model !== 'string' || model === '') found.report('body-shape', 'model', 'model is required')
  if (!Array.isArray(messages)) found.report('message-shape', 'messages', 'messages is no list')
  listOf(messages).forEach((message, index) => checkMessage(found, message, `messages[${index}]`))
  listOf(tools).forEach((tool, index) => {
    if (typeof recordOf(recordOf(tool)?.['function'])?.['name'] !== 'string')
      found.report('tool-shape', `tools[${index}]`)
  })
  checkOptions(found, body.options ?? {})
})

function checkMessage(found: Context['found'], message: unknown, path: string): void {
  if (!isRecord(message)) {
    found.report('message-shape', path, 'a message is no object')
    return
  }
  if (!ROLES.has(message['role'])) found.report('message-role', `${path}.role`, shown(message['role']))
  for (const key of ['content', 'thinking', 'tool_name', 'tool_call_id']) {
    const value = message[key] ?? ''
    if (typeof value !== 'string')
      found.report('message-shape', `${path}.${key}`, `cannot unmarshal ${typeof value} into a string`)
  }
  listOf(message['images']).forEach((image, index) => {
    if (typeof image === 'string' && BASE64.test(image.slice(0, 4096)) && !image.includes(',')) return
    found.report('images-base64', `${path}.images[${index}]`)
  })
  listOf(message['tool_calls']).forEach((call, index) => {
    const body: Fields = recordOf(recordOf(call)?.['function']) ?? {}
    const at = `${path}.tool_calls[${index}].function`
    const given = body['arguments'] ?? {}
    if (typeof body['name'] !== 'string') found.report('call-shape', `${at}.name`, 'a call names no function')
    if (!isRecord(given))
      found.report('call-shape', `${at}.arguments`, `cannot unmarshal ${typeof given} into an object`)
  })
}

function checkOptions(found: Context['found'], options: unknown): void {
  if (!isRecord(options)) {
    found.report('options-shape', 'options', 'options is no object')
    return
  }
  for (const key of ['num_ctx', 'num_predict']) {
    if (!Number.isInteger(options[key] ?? 0))
      found.report('options-shape', `options.${key}`, `option "${key}" must be of type integer`)
  }
}
