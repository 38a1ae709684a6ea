import { RecordingBuilder } from '../builder.ts'
import { addChatMessage, chatTools } from '../histories/chat-messages.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Recording } from '../recording.ts'
import { openaiUsage } from '../usage.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../../core/values.ts'
import { at, jsonText, objectOf, optional, timeOf, withoutKeys } from '../values.ts'

/**
 * OpenHands' event log: actions of the agent and observations of its tools. Newer events carry the model's response (the
 * same one on every event that came of it); older ones have the action's arguments alone.
 */
export const openHands: TranscriptLoader = {
  format: 'openhands',
  recognises(value) {
    const events = isRecord(value) ? value['history'] : value
    const [first] = recordsIn(events)
    return first !== undefined && ('action' in first || 'observation' in first)
  },
  load: (records, context) =>
    records.map(({ value, line }) => {
      const document = objectOf(value)
      const events = Array.isArray(value) ? value : document['history']
      return loadEvents(recordsIn(events), document, line, context)
    }),
}

function loadEvents(events: readonly Fields[], document: Fields, line: number, context: LoadContext): Recording {
  const name = stringOf(document['instance_id']) ?? stringOf(at(document, 'issue', 'title'))
  const builder = new RecordingBuilder({
    format: 'openhands',
    wire: 'openai-chat',
    ...context,
    ...optional('name', name),
  })
  builder.model(stringOf(at(document, 'metadata', 'llm_config', 'model')))
  const answered = new Set<string>()
  let lastAction: OldAction | undefined
  let count = 0
  for (const event of events) {
    const metadata = event['tool_call_metadata']
    if (event['action'] === 'system') {
      builder.system(stringOf(at(event, 'args', 'content')) ?? '')
      builder.tools(chatTools(at(event, 'args', 'tools')))
    } else if (isRecord(metadata)) {
      if ('action' in event) addResponse(builder, event, metadata, answered, line, context)
      else builder.user([{ kind: 'result', text: stringOf(event['content']) ?? '', ...resultNames(metadata) }], line)
    } else if ('action' in event) {
      lastAction = addPlainAction(builder, event, `call_${++count}`, line) ?? lastAction
    } else if (lastAction !== undefined && !HIDDEN.has(stringOf(event['observation']) ?? '')) {
      builder.user(
        [{ kind: 'result', text: stringOf(event['content']) ?? '', callId: lastAction.id, toolName: lastAction.name }],
        line,
      )
      lastAction = undefined
    }
  }
  return builder.build()
}

interface OldAction {
  readonly id: string
  readonly name: string
}

/** Bookkeeping that the agent's model never sees. */
const HIDDEN = new Set(['recall', 'agent_state_changed', 'null', 'change_agent_state', 'condensation'])

const resultNames = (metadata: Fields) => ({
  ...optional('callId', stringOf(metadata['tool_call_id'])),
  ...optional('toolName', stringOf(metadata['function_name'])),
})

function addResponse(
  builder: RecordingBuilder,
  event: Fields,
  metadata: Fields,
  answered: Set<string>,
  line: number,
  context: LoadContext,
): void {
  const response = objectOf(metadata['model_response'])
  const id = stringOf(response['id']) ?? `event-${jsonText(event['id'])}`
  if (answered.has(id)) return
  answered.add(id)
  const message = objectOf(at(recordsIn(response['choices'])[0], 'message'))
  const calls = recordsIn(message['tool_calls']).map((call) => withoutKeys(call, ['index']))
  const chat = {
    role: 'assistant',
    content: message['content'] ?? null,
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  addChatMessage(
    builder,
    chat,
    {
      line,
      ...optional('usage', openaiUsage(response['usage'])),
      ...optional('model', stringOf(response['model'])),
      ...optional('at', timeOf(event['timestamp'])),
    },
    context.options,
  )
}

/** An action without the model's response: what the user said, what the agent said, or a call told by its arguments. */
function addPlainAction(builder: RecordingBuilder, event: Fields, id: string, line: number): OldAction | undefined {
  const action = stringOf(event['action']) ?? ''
  const args = isRecord(event['args'])
    ? event['args']
    : withoutKeys(event, ['action', 'id', 'timestamp', 'source', 'message'])
  if (HIDDEN.has(action)) return undefined
  const time = optional('at', timeOf(event['timestamp']))
  const content = stringOf(args['content']) ?? ''
  if (action === 'message') {
    if (event['source'] === 'agent') builder.answer({ parts: [{ kind: 'assistant', text: content }], line, ...time })
    else if (content !== '') builder.user([{ kind: 'user', text: content }], line)
    return undefined
  }
  const thought = stringOf(args['thought']) ?? ''
  const input = withoutKeys(args, ['thought', 'is_confirmed', 'action_risk', 'keep_prompt', 'kernel_init_code'])
  builder.answer({
    parts: [
      ...(thought === '' ? [] : [{ kind: 'assistant' as const, text: thought }]),
      { kind: 'call', text: jsonText(input), input, callId: id, toolName: action },
    ],
    line,
    ...time,
  })
  return { id, name: action }
}
