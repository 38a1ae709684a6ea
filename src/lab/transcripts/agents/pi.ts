import { isKnownUsage, usageIn } from '../../../core/usage.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Recording, TranscriptLoader, SourceValue } from '../recording.ts'
import { type Fields, isRecord, numberOf, recordsIn, stringOf, textOf } from '../../../core/values.ts'
import { type Piece, piecesOf } from '../shapes.ts'
import { at, objectOf, timeOf } from '../values.ts'

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
 * A session of the pi coding agent, which works with many providers. The history is written as Anthropic messages, because that wire can express
 * all of it.
 */
export const pi: TranscriptLoader = {
  format: 'pi',
  recognises(value) {
    if (!isRecord(value) || 'uuid' in value || 'payload' in value) return false
    const type = stringOf(value['type']) ?? ''
    if (type === 'message') return ROLES.has(stringOf(at(value, 'message', 'role')) ?? '')
    return TYPES.has(type) && 'timestamp' in value
  },
  load: (values, context) => [loadSession(values, context)],
}

function loadSession(values: readonly SourceValue[], context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'pi', wire: 'anthropic-messages', ...context })
  const entryLine = new Map<string, number>()
  for (const { value, line } of values) {
    if (!isRecord(value)) continue
    const id = stringOf(value['id'])
    if (id !== undefined) entryLine.set(id, line)
    if (value['type'] === 'message') addMessage(builder, objectOf(value['message']), line)
    else if (value['type'] === 'compaction') {
      if (!builder.compact(line, numberOf(value['tokensBefore']))) continue
      builder.user([textOf(value['summary'])], line)
      // Older sessions give the index of the first kept entry, newer ones its id.
      const index = numberOf(value['firstKeptEntryIndex'])
      const kept = index === undefined ? entryLine.get(stringOf(value['firstKeptEntryId']) ?? '') : values[index]?.line
      if (kept !== undefined) builder.repeatFrom(kept)
    }
  }
  return builder.build()
}

function addMessage(builder: RecordingBuilder, message: Fields, line: number): void {
  if (message['role'] === 'assistant') {
    const usage = usageIn(message['usage'], USAGE)
    builder.answer({
      pieces: recordsIn(message['content']).map(assistantBlock),
      line,
      model: stringOf(message['model']),
      usage: isKnownUsage(usage) ? usage : undefined,
      at: timeOf(message['timestamp']),
    })
  } else if (message['role'] === 'toolResult') {
    const result = { type: 'tool_result', tool_use_id: message['toolCallId'], content: contentOf(message['content']) }
    builder.user([message['isError'] === true ? { ...result, is_error: true } : result], line)
  } else if (message['role'] === 'bashExecution') {
    // A command that the user ran at the prompt. pi tells the model about it in text.
    const text = `Ran \`${textOf(message['command'])}\`\n\`\`\`\n${textOf(message['output'])}\n\`\`\``
    builder.user([text], line)
  } else {
    builder.user(piecesOf(contentOf(message['content'])), line)
  }
}

function assistantBlock(block: Fields): Piece {
  if (block['type'] === 'toolCall')
    return { type: 'tool_use', id: block['id'], name: block['name'], input: block['arguments'] ?? {} }
  if (block['type'] === 'thinking')
    return { type: 'thinking', thinking: block['thinking'], signature: block['thinkingSignature'] }
  return textOf(block['text'])
}

/** Text, and pictures in the wire's form. */
function contentOf(content: unknown): string | readonly Fields[] {
  if (typeof content === 'string') return content
  return recordsIn(content).map(({ text, data, mimeType = 'image/png' }) =>
    typeof data === 'string'
      ? { type: 'image', source: { type: 'base64', media_type: mimeType, data } }
      : { type: 'text', text: textOf(text) },
  )
}

/** pi's input count excludes cached tokens. Aborted answers report zeros. */
const USAGE = {
  input: ['input', 'cacheRead', 'cacheWrite'],
  cacheRead: 'cacheRead',
  cacheWrite: 'cacheWrite',
  output: 'output',
}
