import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Part, Recording, TranscriptLoader, SourceRecord } from '../recording.ts'
import { type Fields, isRecord, recordsIn, stringOf } from '../../../core/values.ts'
import { at, jsonText, objectOf, timeOf } from '../values.ts'

const EVENT = /^(session|hook|system|user|assistant|tool|permission|subagent|skill|abort)\b/

/** GitHub Copilot CLI's event log. Input tokens are only totalled at the end of the session, so calls have no usage. */
export const copilotCli: TranscriptLoader = {
  format: 'copilot-cli',
  recognises: (value) =>
    isRecord(value) && isRecord(value['data']) && EVENT.test(stringOf(value['type']) ?? '') && 'id' in value,
  load: (records, context) => [loadEvents(records, context)],
}

function loadEvents(records: readonly SourceRecord[], context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'copilot-cli', wire: 'openai-chat', ...context })
  for (const { value, line } of records) {
    if (!isRecord(value)) continue
    const data = objectOf(value['data'])
    switch (value['type']) {
      case 'system.message':
        builder.system(stringOf(data['content']) ?? '')
        break
      case 'user.message':
        builder.user(
          [{ kind: 'user', text: stringOf(data['transformedContent']) ?? stringOf(data['content']) ?? '' }],
          line,
        )
        break
      case 'system.notification':
        builder.user([{ kind: 'user', text: stringOf(data['content']) ?? '' }], line)
        break
      case 'assistant.message':
        addAnswer(builder, data, line, timeOf(value['timestamp']))
        break
      case 'tool.execution_complete':
        builder.user([resultPart(data)], line)
        break
      case 'session.compaction_complete':
        addCompaction(builder, data, line)
        break
    }
  }
  return builder.build()
}

function addAnswer(builder: RecordingBuilder, data: Fields, line: number, time: number | undefined): void {
  const reasoning = stringOf(data['reasoningText']) ?? ''
  const text = stringOf(data['content']) ?? ''
  const calls = recordsIn(data['toolRequests']).map((request): Part => ({
    kind: 'call',
    text: jsonText(request['arguments'] ?? {}),
    input: request['arguments'] ?? {},
    callId: stringOf(request['toolCallId']),
    toolName: stringOf(request['name']),
  }))
  builder.answer({
    parts: [
      ...(reasoning === '' ? [] : [{ kind: 'reasoning' as const, text: reasoning }]),
      ...(text === '' ? [] : [{ kind: 'assistant' as const, text }]),
      ...calls,
    ],
    line,
    id: stringOf(data['apiCallId']),
    model: stringOf(data['model']),
    at: time,
  })
}

function resultPart(data: Fields): Part {
  const error = stringOf(at(data, 'error', 'message'))
  return {
    kind: 'result',
    text: stringOf(at(data, 'result', 'content')) ?? error ?? '',
    callId: stringOf(data['toolCallId']),
    ...(data['success'] === false && { isError: true }),
  }
}

function addCompaction(builder: RecordingBuilder, data: Fields, line: number): void {
  const summary = stringOf(data['summaryContent'])
  // A compaction that failed changes nothing.
  if (summary === undefined || !builder.compact(line)) return
  builder.user([{ kind: 'user', text: summary }], line)
}
