import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../core/values.ts'
import type { RecordingBuilder } from './builder.ts'
import type { LoadOptions, Part } from './recording.ts'
import { at, jsonText, parsedArguments, withoutKeys } from './values.ts'

/** Content of an Anthropic message (text or blocks) as parts that keep their blocks. */
export function partsOfContent(role: 'user' | 'assistant', content: unknown): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind: role, text: content }]
  return recordsIn(content).map((block) => partOfBlock(role, block))
}

export function partOfBlock(role: 'user' | 'assistant', block: Fields): Part {
  const type = stringOf(block['type']) ?? ''
  if (type === 'text') return { kind: role, text: stringOf(block['text']) ?? '', raw: block }
  if (type === 'thinking' || type === 'redacted_thinking') {
    return { kind: 'reasoning', text: stringOf(block['thinking']) ?? '', raw: block }
  }
  if (type === 'tool_use' || type === 'server_tool_use' || type === 'mcp_tool_use') {
    return {
      kind: 'call',
      text: jsonText(block['input'] ?? {}),
      input: block['input'] ?? {},
      raw: block,
      callId: stringOf(block['id']),
      toolName: stringOf(block['name']),
      ...(type !== 'tool_use' && { serverSide: true }),
    }
  }
  if (type.endsWith('tool_result')) {
    const { text, mediaBytes } = resultContent(block['content'])
    return {
      kind: 'result',
      text,
      raw: block,
      callId: stringOf(block['tool_use_id']),
      ...(block['is_error'] === true && { isError: true }),
      ...(mediaBytes > 0 && { mediaBytes }),
      ...(type !== 'tool_result' && { serverSide: true }),
    }
  }
  if (type === 'image' || type === 'document') {
    const data = stringOf(isRecord(block['source']) ? block['source']['data'] : undefined) ?? ''
    return { kind: 'media', text: '', mediaBytes: data.length, raw: block }
  }
  return { kind: 'opaque', text: stringOf(block['text']) ?? '', raw: block }
}

function resultContent(content: unknown): { text: string; mediaBytes: number } {
  if (typeof content === 'string') return { text: content, mediaBytes: 0 }
  const texts: string[] = []
  let mediaBytes = 0
  for (const block of recordsIn(content)) {
    const data = isRecord(block['source']) ? stringOf(block['source']['data']) : undefined
    if (data !== undefined) mediaBytes += data.length
    else texts.push(stringOf(block['text']) ?? jsonText(block))
  }
  return { text: texts.join('\n'), mediaBytes }
}

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
    callId: stringOf(call['id']),
    toolName: stringOf(at(call, 'function', 'name')),
  }
}

function resultPart(message: Fields): Part {
  return {
    kind: 'result',
    text: contentText(message['content']),
    raw: message,
    callId: stringOf(message['tool_call_id']),
    toolName: stringOf(message['name']),
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

const OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output', 'local_shell_call_output'])
const CALLS = new Set(['function_call', 'custom_tool_call', 'local_shell_call'])

/** An item that the model produced, not the client. */
export function isModelItem(item: Fields): boolean {
  const type = stringOf(item['type']) ?? ''
  if (type === 'message') return item['role'] === 'assistant'
  return type === 'reasoning' || CALLS.has(type) || (type.endsWith('_call') && !OUTPUTS.has(type))
}

/** One item of the Responses API as parts that share the item. */
export function partsOfItem(item: Fields): readonly Part[] {
  const type = stringOf(item['type']) ?? (item['role'] === undefined ? '' : 'message')
  if (type === 'message') return messageParts(item)
  if (type === 'reasoning') {
    const text = [...recordsIn(item['summary']), ...recordsIn(item['content'])].map(
      (part) => stringOf(part['text']) ?? '',
    )
    // Without the encrypted content and without a summary there is nothing to send back.
    const empty = text.join('') === '' && item['encrypted_content'] === undefined
    return empty ? [] : [{ kind: 'reasoning', text: text.join('\n'), raw: item }]
  }
  if (CALLS.has(type)) {
    const input = item['arguments'] ?? item['input'] ?? item['action'] ?? {}
    return [
      {
        kind: 'call',
        text: jsonText(input),
        input: type === 'function_call' ? parsedArguments(input) : input,
        raw: item,
        callId: stringOf(item['call_id']) ?? stringOf(item['id']),
        toolName: stringOf(item['name']) ?? type,
      },
    ]
  }
  if (OUTPUTS.has(type)) {
    return [{ kind: 'result', ...outputOf(item['output']), raw: item, callId: stringOf(item['call_id']) }]
  }
  if (type.endsWith('_call')) {
    return [
      {
        kind: 'call',
        text: jsonText(item['action'] ?? {}),
        input: item['action'] ?? {},
        toolName: type,
        serverSide: true,
        raw: item,
      },
    ]
  }
  // Compaction items and whatever comes next: carried, never opened.
  return type === '' ? [] : [{ kind: 'opaque', text: '', raw: item }]
}

function messageParts(item: Fields): readonly Part[] {
  const role = stringOf(item['role'])
  const kind = role === 'assistant' ? 'assistant' : role === 'user' ? 'user' : 'instruction'
  if (typeof item['content'] === 'string') return [{ kind, text: item['content'], raw: item }]
  return recordsIn(item['content']).map((part): Part => {
    const text = stringOf(part['text'])
    if (text !== undefined) return { kind, text, raw: item }
    return {
      kind: 'media',
      text: '',
      mediaBytes: (stringOf(part['image_url']) ?? stringOf(part['file_data']) ?? '').length,
      raw: item,
    }
  })
}

/** Outputs are text, a list of content parts, or (older Codex) `{ content, success }`. */
function outputOf(output: unknown): { text: string; isError?: boolean; mediaBytes?: number } {
  if (typeof output === 'string') return { text: output }
  if (Array.isArray(output)) {
    const parts = recordsIn(output)
    const mediaBytes = parts.reduce((sum, part) => sum + (stringOf(part['image_url']) ?? '').length, 0)
    const text = parts
      .map((part) => stringOf(part['text']) ?? '')
      .filter((part) => part !== '')
      .join('\n')
    return { text, ...(mediaBytes > 0 && { mediaBytes }) }
  }
  if (isRecord(output))
    return {
      text: stringOf(output['content']) ?? jsonText(output),
      ...(output['success'] === false && { isError: true }),
    }
  return { text: '' }
}
