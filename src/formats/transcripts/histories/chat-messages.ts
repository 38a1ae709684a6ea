import type { Usage } from '../../../core/usage.ts'
import type { RecordingBuilder } from '../builder.ts'
import type { LoadOptions, Part } from '../recording.ts'
import { at, isObject, jsonText, objectsOf, optional, parsedArguments, textOf, withoutKeys } from '../values.ts'
import type { JsonObject } from '../values.ts'

/** Where OpenAI-compatible vendors and proxies put reasoning. */
const REASONING_KEYS = ['reasoning_content', 'reasoning', 'thinking_blocks', 'reasoning_details']

export interface ChatMeta {
  readonly line: number
  readonly usage?: Usage
  readonly model?: string
  readonly at?: number
  readonly isCall?: boolean
}

/** Adds one message of a Chat Completions history, kept as it was recorded. */
export function addChatMessage(
  builder: RecordingBuilder,
  message: JsonObject,
  meta: ChatMeta,
  options: LoadOptions,
): void {
  if (message['role'] === 'assistant') {
    const raw = options.thinking === 'drop' ? withoutKeys(message, REASONING_KEYS) : message
    builder.answer({ parts: assistantParts(message, raw), ...meta })
  } else {
    builder.user(partsOfChatMessage(message), meta.line)
  }
}

/** The parts of one message; they share it as their raw value. */
export function partsOfChatMessage(message: JsonObject): readonly Part[] {
  const role = textOf(message['role'])
  if (role === 'assistant') return assistantParts(message, message)
  if (role === 'tool' || role === 'function') return [resultPart(message)]
  return contentParts(role === 'system' || role === 'developer' ? 'instruction' : 'user', message)
}

function assistantParts(message: JsonObject, raw: JsonObject): readonly Part[] {
  const parts: Part[] = []
  const reasoning = textOf(message['reasoning_content']) ?? textOf(message['reasoning']) ?? thinkingText(message)
  if (reasoning !== '') parts.push({ kind: 'reasoning', text: reasoning, raw })
  for (const part of contentParts('assistant', message)) parts.push({ ...part, raw })
  for (const call of objectsOf(message['tool_calls'])) parts.push(callPart(call, raw))
  // An empty answer still was a call.
  return parts.length > 0 ? parts : [{ kind: 'assistant', text: '', raw }]
}

const thinkingText = (message: JsonObject): string =>
  objectsOf(message['thinking_blocks'])
    .map((block) => textOf(block['thinking']) ?? '')
    .join('\n')

function callPart(call: JsonObject, raw: JsonObject): Part {
  const text = jsonText(at(call, 'function', 'arguments') ?? '{}')
  return {
    kind: 'call',
    text,
    input: parsedArguments(text),
    raw,
    ...optional('callId', textOf(call['id'])),
    ...optional('toolName', textOf(at(call, 'function', 'name'))),
  }
}

function resultPart(message: JsonObject): Part {
  return {
    kind: 'result',
    text: contentText(message['content']),
    raw: message,
    ...optional('callId', textOf(message['tool_call_id'])),
    ...optional('toolName', textOf(message['name'])),
  }
}

function contentParts(kind: Part['kind'], message: JsonObject): readonly Part[] {
  const content = message['content']
  if (typeof content === 'string')
    return content === '' && kind === 'assistant' ? [] : [{ kind, text: content, raw: message }]
  return objectsOf(content).map((part): Part => {
    const text = textOf(part['text'])
    if (text !== undefined) return { kind, text, raw: message }
    const url = textOf(at(part, 'image_url', 'url')) ?? textOf(at(part, 'input_audio', 'data')) ?? ''
    return { kind: 'media', text: '', mediaBytes: url.length, raw: message }
  })
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return objectsOf(content)
    .map((part) => textOf(part['text']) ?? '')
    .join('\n')
}

/** `[{ type: 'function', function: { name, … } }]` as recorded tools. */
export function chatTools(tools: unknown): readonly { name: string; json: string }[] {
  return objectsOf(tools)
    .filter((tool) => isObject(tool['function']))
    .map((tool) => ({ name: textOf(at(tool, 'function', 'name')) ?? '', json: JSON.stringify(tool) }))
}
