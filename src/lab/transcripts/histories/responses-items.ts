import type { Part } from '../recording.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../../core/values.ts'
import { jsonText, optional, parsedArguments } from '../values.ts'

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
        ...optional('callId', stringOf(item['call_id']) ?? stringOf(item['id'])),
        toolName: stringOf(item['name']) ?? type,
      },
    ]
  }
  if (OUTPUTS.has(type)) {
    return [
      { kind: 'result', ...outputOf(item['output']), raw: item, ...optional('callId', stringOf(item['call_id'])) },
    ]
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
