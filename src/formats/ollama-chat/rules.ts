import type { Violation } from '../../core/codec.ts'
import { type Fields, isRecord, listOf } from '../../core/values.ts'
import { type Findings, findings, type RuleBook, shown } from '../kit/rules.ts'

/** What the server refuses. It checks types and little else: what does not fit it cuts, and strays it passes to the template. */
export const OLLAMA_CHAT_RULES = {
  'body-shape': { summary: 'The body is an object that names a model.', fix: 'Send a JSON object with a model.' },
  'message-shape': {
    summary: 'Messages are objects with a role and text as content.',
    fix: 'Send role and content as strings.',
  },
  'message-role': {
    summary: 'Roles are system, user, assistant and tool.',
    fix: 'Use one of these roles.',
  },
  'images-base64': { summary: 'Images are a list of base64 texts.', fix: 'Send the bytes of each picture as base64.' },
  'call-shape': {
    summary: 'A call has a function with a name, and arguments that are an object.',
    fix: 'Send arguments as an object, not as text.',
  },
  'tool-shape': {
    summary: 'Tools are functions with a name.',
    fix: 'Declare { type: "function", function: { name } }.',
  },
  'options-shape': {
    summary: 'Options are an object; num_ctx and num_predict are whole numbers.',
    fix: 'Correct the option.',
  },
} as const satisfies RuleBook

export type OllamaChatRule = keyof typeof OLLAMA_CHAT_RULES

const ROLES = new Set<unknown>(['system', 'user', 'assistant', 'tool'])
/** As the server decodes it; the length is checked apart, since a pattern over megabytes is slow. */
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The rules of `/api/chat` on a parsed body. Never throws; linear in the body. */
export function checkOllamaChat(body: unknown): readonly Violation[] {
  const found = findings(OLLAMA_CHAT_RULES)
  if (!isRecord(body)) {
    found.report('body-shape', '', 'The body is not an object.')
    return found.list
  }
  if (typeof body['model'] !== 'string' || body['model'] === '')
    found.report('body-shape', 'model', 'model is required')
  if (body['messages'] !== undefined && !Array.isArray(body['messages'])) {
    found.report('message-shape', 'messages', 'messages is no list')
  }
  listOf(body['messages']).forEach((message, index) => checkMessage(found, message, `messages[${index}]`))
  listOf(body['tools']).forEach((tool, index) => {
    const declared = isRecord(tool) ? tool['function'] : undefined
    if (isRecord(declared) && typeof declared['name'] === 'string') return
    found.report('tool-shape', `tools[${index}]`, 'a tool has no function with a name')
  })
  checkOptions(found, body['options'])
  return found.list
}

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
