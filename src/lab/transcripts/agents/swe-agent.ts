import { RecordingBuilder } from '../builder.ts'
import { addChatMessage } from '../histories/chat-messages.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Recording } from '../recording.ts'
import { type Fields, isRecord, listOf, recordsIn, stringOf } from '../../../core/values.ts'
import { at, optional } from '../values.ts'

/** SWE-agent's `.traj`: `history` is what the model saw, `trajectory` the same as steps. */
export const sweAgent: TranscriptLoader = {
  format: 'swe-agent',
  recognises: (value) =>
    isRecord(value) && Array.isArray(value['trajectory']) && (Array.isArray(value['history']) || 'info' in value),
  load: (records, context) =>
    records.flatMap(({ value, line }) => (isRecord(value) ? [loadTrajectory(value, line, context)] : [])),
}

function loadTrajectory(document: Fields, line: number, context: LoadContext): Recording {
  const name = stringOf(document['environment'])
  const builder = new RecordingBuilder({
    format: 'swe-agent',
    wire: 'openai-chat',
    ...context,
    ...optional('name', name),
  })
  builder.model(stringOf(at(document, 'info', 'model_name')))
  for (const message of recordsIn(document['history'])) {
    // A demonstration shows another run's answers: history for this one, not calls of it.
    const isCall = message['is_demo'] !== true
    addChatMessage(builder, asChat(message), { line, isCall }, context.options)
  }
  return builder.build()
}

/** Keeps the keys of the wire and drops SWE-agent's own (agent, thought, action, message type). */
function asChat(message: Fields): Fields {
  const role = stringOf(message['role']) ?? 'user'
  const callId = stringOf(message['tool_call_id']) ?? stringOf(listOf(message['tool_call_ids'])[0])
  const calls = recordsIn(message['tool_calls'])
  return {
    role,
    content: message['content'] ?? '',
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(role === 'tool' && callId !== undefined && { tool_call_id: callId }),
  }
}
