import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Part, Recording } from '../recording.ts'
import type { SourceRecord } from '../source.ts'
import { at, isObject, jsonText, objectOf, objectsOf, optional, textOf, timeOf } from '../values.ts'
import type { JsonObject } from '../values.ts'

const EVENT = /^(session|hook|system|user|assistant|tool|permission|subagent|skill|abort)\b/

/** GitHub Copilot CLI's event log. Input tokens are only totalled at the end of the session, so calls have no usage. */
export const copilotCli: TranscriptLoader = {
  format: 'copilot-cli',
  recognises: (value) =>
    isObject(value) && isObject(value['data']) && EVENT.test(textOf(value['type']) ?? '') && 'id' in value,
  load: (records, context) => [loadEvents(records, context)],
}

function loadEvents(records: readonly SourceRecord[], context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'copilot-cli', wire: 'openai-chat', ...context })
  for (const { value, line } of records) {
    if (!isObject(value)) continue
    const data = objectOf(value['data'])
    switch (value['type']) {
      case 'system.message':
        builder.system(textOf(data['content']) ?? '')
        break
      case 'user.message':
        builder.user(
          [{ kind: 'user', text: textOf(data['transformedContent']) ?? textOf(data['content']) ?? '' }],
          line,
        )
        break
      case 'system.notification':
        builder.user([{ kind: 'user', text: textOf(data['content']) ?? '' }], line)
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

function addAnswer(builder: RecordingBuilder, data: JsonObject, line: number, time: number | undefined): void {
  const reasoning = textOf(data['reasoningText']) ?? ''
  const text = textOf(data['content']) ?? ''
  const calls = objectsOf(data['toolRequests']).map((request): Part => ({
    kind: 'call',
    text: jsonText(request['arguments'] ?? {}),
    input: request['arguments'] ?? {},
    ...optional('callId', textOf(request['toolCallId'])),
    ...optional('toolName', textOf(request['name'])),
  }))
  builder.answer({
    parts: [
      ...(reasoning === '' ? [] : [{ kind: 'reasoning' as const, text: reasoning }]),
      ...(text === '' ? [] : [{ kind: 'assistant' as const, text }]),
      ...calls,
    ],
    line,
    ...optional('id', textOf(data['apiCallId'])),
    ...optional('model', textOf(data['model'])),
    ...optional('at', time),
  })
}

function resultPart(data: JsonObject): Part {
  const error = textOf(at(data, 'error', 'message'))
  return {
    kind: 'result',
    text: textOf(at(data, 'result', 'content')) ?? error ?? '',
    ...optional('callId', textOf(data['toolCallId'])),
    ...(data['success'] === false && { isError: true }),
  }
}

function addCompaction(builder: RecordingBuilder, data: JsonObject, line: number): void {
  const summary = textOf(data['summaryContent'])
  // A compaction that failed changes nothing.
  if (summary === undefined || !builder.compact(line)) return
  builder.user([{ kind: 'user', text: summary }], line)
}
