import type { Usage } from '../../../core/usage.ts'
import type { RecordingBuilder } from '../builder.ts'
import type { LoadOptions, Part } from '../recording.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../../core/values.ts'
import { at, jsonText, optional, parsedArguments, withoutKeys } from '../values.ts'

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
export function addChatMessage(builder: RecordingBuilder, message: Fields, meta: ChatMeta, options: LoadOptions): void {
  if (message['role'] === 'assistant') {
    const raw = options.thinking === 'drop' ? withoutKeys(message, REASONING_KEYS) : message
    builder.answer({ parts: assistantParts(message, raw), ...meta })
  } else {
    builder.user(partsOfChatMessage(message), meta.line)
  }
}

/** The parts of one message; they share it as their raw value. */
export function partsOfChatMessage(message: Fields): readonly Part[] {
  const role = stringOf(message['role'])
  if (role === 'assistant') return assistantParts(message, message)
  if (role === 'tool' || role === 'function') return [resultPart(message)]
  return contentParts(role === 'system' || role === 'developer' ? 'instruction' : 'user', message)
}

function assistantParts(message: Fields, raw: Fields): readonly Part[] {
  const parts: Part[] = []
  const reasoning = stringOf(message['reasoning_content']) ?? stringOf(message['reasoning']) ?? thinkingText(message)
  if (reasoning !== '') parts.push({ kind: 'reasoning', text: reasoning, raw })
  for (const part of contentParts('assistant', message)) parts.push({ ...part, raw })
  for (const call of recordsIn(message['tool_calls'])) parts.push(callPart(call, raw))
  // An empty answer still was a call.
  return parts.length > 0 ? parts : [{ kind: 'assistant', text: '', raw }]
}

const thinkingText = (message: Fields): string =>
  recordsIn(message['thinking_blocks'])
    .map((block) => stringOf(block['thinking']) ?? '')
    .join('\n')

function callPart(call: Fields, raw: Fields): Part {
  const text = jsonText(at(call, 'function', 'arguments') ?? '{}')
  return {
    kind: 'call',
    text,
    input: parsedArguments(text),
    raw,
    ...optional('callId', stringOf(call['id'])),
    ...optional('toolName', stringOf(at(call, 'function', 'name'))),
  }
}

function resultPart(message: Fields): Part {
  return {
    kind: 'result',
    text: contentText(message['content']),
    raw: message,
    ...optional('callId', stringOf(message['tool_call_id'])),
    ...optional('toolName', stringOf(message['name'])),
  }
}

function contentParts(kind: Part['kind'], message: Fields): readonly Part[] {
  const content = message['content']
  if (typeof content === 'string')
    return content === '' && kind === 'assistant' ? [] : [{ kind, text: content, raw: message }]
  return recordsIn(content).map((part): Part => {
    const text = stringOf(part['text'])
    if (text !== undefined) return { kind, text, raw: message }
    const url = stringOf(at(part, 'image_url', 'url')) ?? stringOf(at(part, 'input_audio', 'data')) ?? ''
    return { kind: 'media', text: '', mediaBytes: url.length, raw: message }
  })
}

function contentText(content: unknown): string {
  if (typeof content === 'string') return content
  return recordsIn(content)
    .map((part) => stringOf(part['text']) ?? '')
    .join('\n')
}

/** `[{ type: 'function', function: { name, … } }]` as recorded tools. */
export function chatTools(tools: unknown): readonly { name: string; json: string }[] {
  return recordsIn(tools)
    .filter((tool) => isRecord(tool['function']))
    .map((tool) => ({ name: stringOf(at(tool, 'function', 'name')) ?? '', json: JSON.stringify(tool) }))
}
