import type { Part } from '../recording.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../../core/values.ts'
import { jsonText, optional } from '../values.ts'

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
      ...optional('callId', stringOf(block['id'])),
      ...optional('toolName', stringOf(block['name'])),
      ...(type !== 'tool_use' && { serverSide: true }),
    }
  }
  if (type.endsWith('tool_result')) {
    const { text, mediaBytes } = resultContent(block['content'])
    return {
      kind: 'result',
      text,
      raw: block,
      ...optional('callId', stringOf(block['tool_use_id'])),
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
