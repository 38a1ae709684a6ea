import type { Usage } from '../../../core/usage.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Part, Recording, TranscriptLoader, SourceRecord } from '../recording.ts'
import { type Fields, isRecord, numberOf, recordsIn, stringOf } from '../../../core/values.ts'
import { at, jsonText, objectOf, timeOf } from '../values.ts'

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
    if (!isRecord(value) || 'uuid' in value || 'payload' in value) return false
    const type = stringOf(value['type']) ?? ''
    if (type === 'message') return ROLES.has(stringOf(at(value, 'message', 'role')) ?? '')
    return TYPES.has(type) && 'timestamp' in value
  },
  load: (records, context) => [loadSession(records, context)],
}

function loadSession(records: readonly SourceRecord[], context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'pi', wire: 'anthropic-messages', ...context })
  const entryLine = new Map<string, number>()
  for (const { value, line } of records) {
    if (!isRecord(value)) continue
    const id = stringOf(value['id'])
    if (id !== undefined) entryLine.set(id, line)
    if (value['type'] === 'message') addMessage(builder, objectOf(value['message']), line)
    else if (value['type'] === 'compaction') {
      if (!builder.compact(line, numberOf(value['tokensBefore']))) continue
      builder.user([{ kind: 'user', text: stringOf(value['summary']) ?? '' }], line)
      // Older sessions name the first kept entry by its place in the file, newer ones by its id.
      const index = numberOf(value['firstKeptEntryIndex'])
      const kept = index === undefined ? entryLine.get(stringOf(value['firstKeptEntryId']) ?? '') : records[index]?.line
      if (kept !== undefined) builder.repeatFrom(kept)
    }
  }
  return builder.build()
}

function addMessage(builder: RecordingBuilder, message: Fields, line: number): void {
  if (message['role'] === 'assistant') {
    builder.answer({
      parts: recordsIn(message['content']).map(assistantPart),
      line,
      model: stringOf(message['model']),
      usage: usageOf(message['usage']),
      at: timeOf(message['timestamp']),
    })
  } else if (message['role'] === 'toolResult') {
    const { text, mediaBytes } = contentOf(message['content'])
    builder.user(
      [
        {
          kind: 'result',
          text,
          callId: stringOf(message['toolCallId']),
          toolName: stringOf(message['toolName']),
          ...(message['isError'] === true && { isError: true }),
          ...(mediaBytes > 0 && { mediaBytes }),
        },
      ],
      line,
    )
  } else if (message['role'] === 'bashExecution') {
    // A command that the user ran at the prompt; pi tells the model about it in words.
    const text = `Ran \`${stringOf(message['command']) ?? ''}\`\n\`\`\`\n${stringOf(message['output']) ?? ''}\n\`\`\``
    builder.user([{ kind: 'user', text }], line)
  } else {
    builder.user(userParts(message['content']), line)
  }
}

function assistantPart(block: Fields): Part {
  if (block['type'] === 'toolCall') {
    const input = block['arguments'] ?? {}
    return {
      kind: 'call',
      text: jsonText(input),
      input,
      callId: stringOf(block['id']),
      toolName: stringOf(block['name']),
    }
  }
  if (block['type'] === 'thinking') {
    const thinking = stringOf(block['thinking']) ?? ''
    const signature = stringOf(block['thinkingSignature'])
    return {
      kind: 'reasoning',
      text: thinking,
      ...(signature !== undefined && signature !== '' && { raw: { type: 'thinking', thinking, signature } }),
    }
  }
  return { kind: 'assistant', text: stringOf(block['text']) ?? '' }
}

function userParts(content: unknown): readonly Part[] {
  if (typeof content === 'string') return [{ kind: 'user', text: content }]
  return recordsIn(content).map((block): Part => {
    const data = stringOf(block['data'])
    if (data === undefined) return { kind: 'user', text: stringOf(block['text']) ?? '' }
    const source = { type: 'base64', media_type: stringOf(block['mimeType']) ?? 'image/png', data }
    return { kind: 'media', text: '', mediaBytes: data.length, raw: { type: 'image', source } }
  })
}

function contentOf(content: unknown): { text: string; mediaBytes: number } {
  const blocks = recordsIn(content)
  return {
    text: typeof content === 'string' ? content : blocks.map((block) => stringOf(block['text']) ?? '').join('\n'),
    mediaBytes: blocks.reduce((sum, block) => sum + (stringOf(block['data'])?.length ?? 0), 0),
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
