import { RecordingBuilder } from '../builder.ts'
import { addChatMessage } from './chat-messages.ts'
import type { TranscriptLoader } from '../loader.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../../core/values.ts'

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** A Chat Completions history: an array of messages, or one message per line. */
export const openaiChat: TranscriptLoader = {
  format: 'openai-chat',
  recognises: (value) => (Array.isArray(value) ? isHistory(value) : isMessage(value)),
  load(records, context) {
    const histories = records.filter(({ value }) => Array.isArray(value))
    const loose = records.filter(({ value }) => isMessage(value))
    const sources = histories.map(({ value, line }) => recordsIn(value).map((message) => ({ message, line })))
    if (loose.length > 0) sources.push(loose.map(({ value, line }) => ({ message: value as Fields, line })))
    return sources.map((messages) => {
      const builder = new RecordingBuilder({ format: 'openai-chat', wire: 'openai-chat', ...context })
      for (const { message, line } of messages) addChatMessage(builder, message, { line }, context.options)
      return builder.build()
    })
  },
}

const isMessage = (value: unknown): boolean =>
  isRecord(value) && ROLES.has(stringOf(value['role']) ?? '') && ('content' in value || 'tool_calls' in value)

const isHistory = (value: readonly unknown[]): boolean => value.length > 0 && value.every(isMessage)
