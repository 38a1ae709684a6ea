import { partsOfContent } from './anthropic-blocks.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Recording } from '../recording.ts'
import { anthropicUsage } from '../usage.ts'
import { isObject, objectsOf, optional, textOf } from '../values.ts'
import type { JsonObject } from '../values.ts'

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
      .map(({ value, line }) => ({ message: value as JsonObject, line }))
    if (loose.length > 0) recordings.push(history(loose, context))
    for (const { value, line } of records) {
      const messages = Array.isArray(value) ? value : isBody(value) ? value['messages'] : undefined
      if (messages === undefined) continue
      const lines = objectsOf(messages).map((message) => ({ message, line }))
      recordings.push(history(lines, context, isObject(value) ? value : {}))
    }
    return recordings
  },
}

const isMessage = (value: unknown): boolean =>
  isObject(value) && (value['role'] === 'user' || value['role'] === 'assistant') && 'content' in value

const hasBlocks = (value: unknown): boolean =>
  isObject(value) && objectsOf(value['content']).some((block) => BLOCKS.has(textOf(block['type']) ?? ''))

/** `max_tokens` with messages and a top-level system or blocks: the Messages API and nobody else. */
const isBody = (value: unknown): value is JsonObject =>
  isObject(value) &&
  Array.isArray(value['messages']) &&
  value['messages'].every(isMessage) &&
  ('system' in value || 'max_tokens' in value) &&
  ('system' in value || 'anthropic_version' in value || value['messages'].some(hasBlocks))

function history(
  messages: readonly { readonly message: JsonObject; readonly line: number }[],
  context: LoadContext,
  body: JsonObject = {},
): Recording {
  const builder = new RecordingBuilder({ format: 'anthropic', wire: 'anthropic-messages', ...context })
  builder.model(textOf(body['model']))
  builder.system(systemText(body['system']))
  builder.tools(
    objectsOf(body['tools']).map((tool) => ({ name: textOf(tool['name']) ?? '', json: JSON.stringify(tool) })),
  )
  for (const { message, line } of messages) {
    if (message['role'] === 'user') builder.user(partsOfContent('user', message['content']), line)
    else {
      builder.answer({
        parts: partsOfContent('assistant', message['content']),
        line,
        ...optional('model', textOf(message['model'])),
        ...optional('usage', anthropicUsage(message['usage'])),
      })
    }
  }
  return builder.build()
}

const systemText = (system: unknown): string =>
  typeof system === 'string'
    ? system
    : objectsOf(system)
        .map((block) => textOf(block['text']) ?? '')
        .join('\n\n')
