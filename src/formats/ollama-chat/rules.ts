import type { Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf } from '../../core/values.ts'
import { checkBody, type Findings, type RuleBook, shown } from '../kit/rules.ts'

/** What the server refuses. It checks types and little else: what does not fit it cuts, and strays it passes to the template. */
export const OLLAMA_CHAT_RULES = {
  'body-shape': 'Send a JSON object with a model.',
  'message-shape': 'Send role and content as strings.',
  'message-role': 'Use one of these roles.',
  'images-base64': 'Send the bytes of each picture as base64.',
  'call-shape': 'Send arguments as an object, not as text.',
  'tool-shape': 'Declare { type: "function", function: { name } }.',
  'options-shape': 'Correct the option.',
} as const satisfies RuleBook

export type OllamaChatRule = keyof typeof OLLAMA_CHAT_RULES

const ROLES = new Set<unknown>(['system', 'user', 'assistant', 'tool'])
/** As the server decodes it; the length is checked apart, since a pattern over megabytes is slow. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The rules of `/api/chat`. */
export const checkOllamaChat = (body: unknown): readonly Violation[] =>
  checkBody(OLLAMA_CHAT_RULES, WORDS, body, {}, (fields, found) => {
    const { model, messages, tools, options } = fields
    if (typeof model !== 'string' || model === '') found.report('body-shape', 'model', 'model is required')
    if (messages !== undefined && !Array.isArray(messages))
      found.report('message-shape', 'messages', 'messages is no list')
    listOf(messages).forEach((message, index) => checkMessage(found, message, `messages[${index}]`))
    listOf(tools).forEach((tool, index) => {
      const declared = isRecord(tool) ? tool['function'] : undefined
      if (isRecord(declared) && typeof declared['name'] === 'string') return
      found.report('tool-shape', `tools[${index}]`, 'a tool has no function with a name')
    })
    checkOptions(found, options)
  })

const WORDS = { shape: 'The body is not an object.', surrogate: undefined }

function checkMessage(found: Findings<OllamaChatRule>, message: unknown, path: string): void {
  if (!isRecord(message)) {
    found.report('message-shape', path, 'a message is no object')
    return
  }
  if (!ROLES.has(message['role'])) {
    found.report(
      'message-role',
      `${path}.role`,
      `invalid role: ${shown(message['role'])}, must be one of [system user assistant tool]`,
    )
  }
  for (const key of ['content', 'thinking', 'tool_name', 'tool_call_id']) {
    if (message[key] === undefined || message[key] === null || typeof message[key] === 'string') continue
    found.report('message-shape', `${path}.${key}`, `cannot unmarshal ${typeof message[key]} into a string`)
  }
  listOf(message['images']).forEach((image, index) => {
    if (typeof image === 'string' && BASE64.test(image.slice(0, 4096)) && !image.includes(',')) return
    found.report('images-base64', `${path}.images[${index}]`, 'illegal base64 data')
  })
  listOf(message['tool_calls']).forEach((call, index) => checkCall(found, call, `${path}.tool_calls[${index}]`))
}

function checkCall(found: Findings<OllamaChatRule>, call: unknown, path: string): void {
  const body: Fields = isRecord(call) && isRecord(call['function']) ? call['function'] : {}
  if (typeof body['name'] !== 'string') found.report('call-shape', `${path}.function.name`, 'a call names no function')
  if (body['arguments'] === undefined || body['arguments'] === null || isRecord(body['arguments'])) return
  found.report(
    'call-shape',
    `${path}.function.arguments`,
    `cannot unmarshal ${typeof body['arguments']} into an object`,
  )
}

function checkOptions(found: Findings<OllamaChatRule>, options: unknown): void {
  if (options === undefined || options === null) return
  if (!isRecord(options)) {
    found.report('options-shape', 'options', 'options is no object')
    return
  }
  for (const key of ['num_ctx', 'num_predict']) {
    const value = options[key]
    if (value === undefined || value === null || Number.isInteger(value)) continue
    found.report('options-shape', `options.${key}`, `option "${key}" must be of type integer`)
  }
}
