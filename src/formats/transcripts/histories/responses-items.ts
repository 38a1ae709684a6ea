import type { Part } from '../recording.ts'
import { isObject, jsonText, objectsOf, optional, parsedArguments, textOf } from '../values.ts'
import type { JsonObject } from '../values.ts'

const OUTPUTS = new Set(['function_call_output', 'custom_tool_call_output', 'local_shell_call_output'])
const CALLS = new Set(['function_call', 'custom_tool_call', 'local_shell_call'])

/** An item that the model produced, not the client. */
export function isModelItem(item: JsonObject): boolean {
  const type = textOf(item['type']) ?? ''
  if (type === 'message') return item['role'] === 'assistant'
  return type === 'reasoning' || CALLS.has(type) || (type.endsWith('_call') && !OUTPUTS.has(type))
}

/** One item of the Responses API as parts that share the item. */
export function partsOfItem(item: JsonObject): readonly Part[] {
  const type = textOf(item['type']) ?? (item['role'] === undefined ? '' : 'message')
  if (type === 'message') return messageParts(item)
  if (type === 'reasoning') {
    const text = [...objectsOf(item['summary']), ...objectsOf(item['content'])].map(
      (part) => textOf(part['text']) ?? '',
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
        ...optional('callId', textOf(item['call_id']) ?? textOf(item['id'])),
        toolName: textOf(item['name']) ?? type,
      },
    ]
  }
  if (OUTPUTS.has(type)) {
    return [{ kind: 'result', ...outputOf(item['output']), raw: item, ...optional('callId', textOf(item['call_id'])) }]
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

function messageParts(item: JsonObject): readonly Part[] {
  const role = textOf(item['role'])
  const kind = role === 'assistant' ? 'assistant' : role === 'user' ? 'user' : 'instruction'
  if (typeof item['content'] === 'string') return [{ kind, text: item['content'], raw: item }]
  return objectsOf(item['content']).map((part): Part => {
    const text = textOf(part['text'])
    if (text !== undefined) return { kind, text, raw: item }
    return {
      kind: 'media',
      text: '',
      mediaBytes: (textOf(part['image_url']) ?? textOf(part['file_data']) ?? '').length,
      raw: item,
    }
  })
}

/** Outputs are text, a list of content parts, or (older Codex) `{ content, success }`. */
function outputOf(output: unknown): { text: string; isError?: boolean; mediaBytes?: number } {
  if (typeof output === 'string') return { text: output }
  if (Array.isArray(output)) {
    const parts = objectsOf(output)
    const mediaBytes = parts.reduce((sum, part) => sum + (textOf(part['image_url']) ?? '').length, 0)
    const text = parts
      .map((part) => textOf(part['text']) ?? '')
      .filter((part) => part !== '')
      .join('\n')
    return { text, ...(mediaBytes > 0 && { mediaBytes }) }
  }
  if (isObject(output))
    return {
      text: textOf(output['content']) ?? jsonText(output),
      ...(output['success'] === false && { isError: true }),
    }
  return { text: '' }
}
