import { RecordingBuilder } from '../builder.ts'
import { addChatMessage } from '../histories/chat-messages.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Recording } from '../recording.ts'
import { at, isObject, listOf, objectsOf, optional, textOf } from '../values.ts'
import type { JsonObject } from '../values.ts'

/** SWE-agent's `.traj`: `history` is what the model saw, `trajectory` the same as steps. */
export const sweAgent: TranscriptLoader = {
  format: 'swe-agent',
  recognises: (value) =>
    isObject(value) && Array.isArray(value['trajectory']) && (Array.isArray(value['history']) || 'info' in value),
  load: (records, context) =>
    records.flatMap(({ value, line }) => (isObject(value) ? [loadTrajectory(value, line, context)] : [])),
}

function loadTrajectory(document: JsonObject, line: number, context: LoadContext): Recording {
  const name = textOf(document['environment'])
  const builder = new RecordingBuilder({
    format: 'swe-agent',
    wire: 'openai-chat',
    ...context,
    ...optional('name', name),
  })
  builder.model(textOf(at(document, 'info', 'model_name')))
  for (const message of objectsOf(document['history'])) {
    // A demonstration shows another run's answers: history for this one, not calls of it.
    const isCall = message['is_demo'] !== true
    addChatMessage(builder, asChat(message), { line, isCall }, context.options)
  }
  return builder.build()
}

/** Keeps the keys of the wire and drops SWE-agent's own (agent, thought, action, message type). */
function asChat(message: JsonObject): JsonObject {
  const role = textOf(message['role']) ?? 'user'
  const callId = textOf(message['tool_call_id']) ?? textOf(listOf(message['tool_call_ids'])[0])
  const calls = objectsOf(message['tool_calls'])
  return {
    role,
    content: message['content'] ?? '',
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(role === 'tool' && callId !== undefined && { tool_call_id: callId }),
  }
}
