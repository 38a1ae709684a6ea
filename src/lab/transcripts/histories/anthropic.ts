import { partsOfContent } from './anthropic-blocks.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Recording } from '../recording.ts'
import { anthropicUsage } from '../usage.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../../core/values.ts'
import { optional } from '../values.ts'

const BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking'])

/** An Anthropic history: an array of messages with blocks, one message per line, or a request body. */
export const anthropic: TranscriptLoader = {
  format: 'anthropic',
  recognises(value) {
    if (Array.isArray(value)) return value.length > 0 && value.every(isMessage) && value.some(hasBlocks)
    if (isBody(value)) return true
    return isMessage(value) && hasBlocks(value)
  },
  load(records, context) {
    const recordings: Recording[] = []
    const loose = records
      .filter(({ value }) => isMessage(value))
      .map(({ value, line }) => ({ message: value as Fields, line }))
    if (loose.length > 0) recordings.push(history(loose, context))
    for (const { value, line } of records) {
      const messages = Array.isArray(value) ? value : isBody(value) ? value['messages'] : undefined
      if (messages === undefined) continue
      const lines = recordsIn(messages).map((message) => ({ message, line }))
      recordings.push(history(lines, context, isRecord(value) ? value : {}))
    }
    return recordings
  },
}

const isMessage = (value: unknown): boolean =>
  isRecord(value) && (value['role'] === 'user' || value['role'] === 'assistant') && 'content' in value

const hasBlocks = (value: unknown): boolean =>
  isRecord(value) && recordsIn(value['content']).some((block) => BLOCKS.has(stringOf(block['type']) ?? ''))

/** `max_tokens` with messages and a top-level system or blocks: the Messages API and nobody else. */
const isBody = (value: unknown): value is Fields =>
  isRecord(value) &&
  Array.isArray(value['messages']) &&
  value['messages'].every(isMessage) &&
  ('system' in value || 'max_tokens' in value) &&
  ('system' in value || 'anthropic_version' in value || value['messages'].some(hasBlocks))

function history(
  messages: readonly { readonly message: Fields; readonly line: number }[],
  context: LoadContext,
  body: Fields = {},
): Recording {
  const builder = new RecordingBuilder({ format: 'anthropic', wire: 'anthropic-messages', ...context })
  builder.model(stringOf(body['model']))
  builder.system(systemText(body['system']))
  builder.tools(
    recordsIn(body['tools']).map((tool) => ({ name: stringOf(tool['name']) ?? '', json: JSON.stringify(tool) })),
  )
  for (const { message, line } of messages) {
    if (message['role'] === 'user') builder.user(partsOfContent('user', message['content']), line)
    else {
      builder.answer({
        parts: partsOfContent('assistant', message['content']),
        line,
        ...optional('model', stringOf(message['model'])),
        ...optional('usage', anthropicUsage(message['usage'])),
      })
    }
  }
  return builder.build()
}

const systemText = (system: unknown): string =>
  typeof system === 'string'
    ? system
    : recordsIn(system)
        .map((block) => stringOf(block['text']) ?? '')
        .join('\n\n')
