import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Recording, TranscriptLoader } from '../recording.ts'
import { type Fields, isRecord, recordsIn, stringOf, textOf } from '../../../core/values.ts'
import { usageIn } from '../../../core/usage.ts'
import { type Piece, piecesOf } from '../shapes.ts'
import { at, jsonText, objectOf, timeOf, withoutKeys } from '../values.ts'

/** Cline's session file: blocks as in Anthropic's format, separate blocks for files, the system prompt in `system_prompt`. */
export const cline: TranscriptLoader = {
  format: 'cline',
  recognises: (value) =>
    isRecord(value) &&
    Array.isArray(value['messages']) &&
    'sessionId' in value &&
    ('system_prompt' in value || 'agent' in value),
  load: (values, context) => values.map(({ value, line }) => loadSession(objectOf(value), line, context)),
}

function loadSession(document: Fields, line: number, context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'cline', wire: 'anthropic-messages', ...context })
  builder.system(textOf(document['system_prompt']))
  for (const message of recordsIn(document['messages'])) {
    const pieces = piecesOf(message['content']).map(asWireBlock)
    if (message['role'] !== 'assistant') builder.user(pieces, line)
    else {
      builder.answer({
        pieces,
        line,
        model: stringOf(at(message, 'modelInfo', 'id')),
        usage: usageIn(message['metrics'], USAGE),
        at: timeOf(message['ts']),
      })
    }
  }
  return builder.build()
}

function asWireBlock(block: Piece): Piece {
  if (typeof block === 'string') return block
  if (block['type'] === 'file') return `<file path="${textOf(block['path'])}">\n${textOf(block['content'])}\n</file>`
  if (block['type'] !== 'tool_result') return block
  // `name` and some tools' results are Cline's own, and not valid on the wire.
  const { content } = block
  const isOwn = recordsIn(content).some(({ type }) => type === undefined)
  return { ...withoutKeys(block, ['name']), content: isOwn ? jsonText(content) : content }
}

/** Cline's input count includes tokens read from the cache. */
const USAGE = {
  input: 'inputTokens',
  cacheRead: 'cacheReadTokens',
  cacheWrite: 'cacheWriteTokens',
  output: 'outputTokens',
}
