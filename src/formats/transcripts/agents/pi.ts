import type { Usage } from '../../../core/usage.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Part, Recording } from '../recording.ts'
import type { SourceRecord } from '../source.ts'
import { at, isObject, jsonText, numberOf, objectOf, objectsOf, optional, textOf, timeOf } from '../values.ts'
import type { JsonObject } from '../values.ts'

const TYPES = new Set([
  'session',
  'message',
  'compaction',
  'thinking_level_change',
  'model_change',
  'branch_summary',
  'custom_message',
])
const ROLES = new Set(['user', 'assistant', 'toolResult', 'bashExecution'])

/**
 * A session of the pi coding agent. It speaks to many providers; the history is written as Anthropic messages, since that
 * wire has room for all of it.
 */
export const pi: TranscriptLoader = {
  format: 'pi',
  recognises(value) {
    if (!isObject(value) || 'uuid' in value || 'payload' in value) return false
    const type = textOf(value['type']) ?? ''
    if (type === 'message') return ROLES.has(textOf(at(value, 'message', 'role')) ?? '')
    return TYPES.has(type) && 'timestamp' in value
  },
  load: (records, context) => [loadSession(records, context)],
}

function loadSession(records: readonly SourceRecord[], context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'pi', wire: 'anthropic-messages', ...context })
  const entryLine = new Map<string, number>()
  for (const { value, line } of records) {
    if (!isObject(value)) continue
    const id = textOf(value['id'])
    if (id !== undefined) entryLine.set(id, line)
    if (value['type'] === 'message') addMessage(builder, objectOf(value['message']), line)
    else if (value['type'] === 'compaction') {
      if (!builder.compact(line, numberOf(value['tokensBefore']))) continue
      builder.user([{ kind: 'user', text: textOf(value['summary']) ?? '' }], line)
      // Older sessions name the first kept entry by its place in the file, newer ones by its id.
      const index = numberOf(value['firstKeptEntryIndex'])
      const kept = index === undefined ? entryLine.get(textOf(value['firstKeptEntryId']) ?? '') : records[index]?.line
      if (kept !== undefined) builder.repeatFrom(kept)
    }
  }
  return builder.build()
}

function addMessage(builder: RecordingBuilder, message: JsonObject, line: number): void {
  if (message['role'] === 'assistant') {
    builder.answer({
      parts: objectsOf(message['content']).map(assistantPart),
      line,
      ...optional('model', textOf(message['model'])),
      ...optional('usage', usageOf(message['usage'])),
      ...optional('at', timeOf(message['timestamp'])),
    })
  } else if (message['role'] === 'toolResult') {
    const { text, mediaBytes } = contentOf(message['content'])
    builder.user(
      [
        {
          kind: 'result',
          text,
          ...optional('callId', textOf(message['toolCallId'])),
          ...optional('toolName', textOf(message['toolName'])),
          ...(message['isError'] === true && { isError: true }),
          ...(mediaBytes > 0 && { mediaBytes }),
        },
      ],
      line,
    )
  } else if (message['role'] === 'bashExecution') {
    // A command that the user ran at the prompt; pi tells the model about it in words.
    const text = `Ran \`${textOf(message['command']) ?? ''}\`\n\`\`\`\n${textOf(message['output']) ?? ''}\n\`\`\``
    builder.user([{ kind: 'user', text }], line)
  } else {
    builder.user(userParts(message['content']), line)
  }
}

function assistantPart(block: JsonObject): Part {
  if (block['type'] === 'toolCall') {
    const input = block['arguments'] ?? {}
    return {
      kind: 'call',
      text: jsonText(input),
      input,
      ...optional('callId', textOf(block['id'])),
      ...optional('toolName', textOf(block['name'])),
    }
  }
  if (block['type'] === 'thinking') {
    const thinking = textOf(block['thinking']) ?? ''
    const signature = textOf(block['thinkingSignature'])
    return {
      kind: 'reasoning',
      text: thinking,
      ...(signature !== undefined && signature !== '' && { raw: { type: 'thinking', thinking, signature } }),
    }
  }
  return { kind: 'assistant', text: textOf(block['text']) ?? '' }
}

function userParts(content: unknown): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'user', text: content }]
  return objectsOf(content).map((block): Part => {
    const data = textOf(block['data'])
    if (data === undefined) return { kind: 'user', text: textOf(block['text']) ?? '' }
    const source = { type: 'base64', media_type: textOf(block['mimeType']) ?? 'image/png', data }
    return { kind: 'media', text: '', mediaBytes: data.length, raw: { type: 'image', source } }
  })
}

function contentOf(content: unknown): { text: string; mediaBytes: number } {
  const blocks = objectsOf(content)
  return {
    text: typeof content === 'string' ? content : blocks.map((block) => textOf(block['text']) ?? '').join('\n'),
    mediaBytes: blocks.reduce((sum, block) => sum + (textOf(block['data'])?.length ?? 0), 0),
  }
}

/** pi's input excludes cached tokens. */
function usageOf(usage: unknown): Usage | undefined {
  const plain = numberOf(at(usage, 'input'))
  if (plain === undefined) return undefined
  const cacheRead = numberOf(at(usage, 'cacheRead')) ?? 0
  const cacheWrite = numberOf(at(usage, 'cacheWrite')) ?? 0
  const output = numberOf(at(usage, 'output')) ?? 0
  // Aborted answers report zeros.
  if (plain + cacheRead + cacheWrite + output === 0) return undefined
  return { input: plain + cacheRead + cacheWrite, cacheRead, cacheWrite, output, reasoning: 0 }
}
