import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, Recording, TranscriptLoader, SourceValue } from '../recording.ts'
import { type Fields, isRecord, recordsIn, stringOf, textOf } from '../../../core/values.ts'
import { at, jsonText, objectOf, timeOf } from '../values.ts'

const EVENT = /^(session|hook|system|user|assistant|tool|permission|subagent|skill|abort)\b/

/** GitHub Copilot CLI's event log. It only has the sum of the input tokens at the end of the session, so calls have no usage. */
export const copilotCli: TranscriptLoader = {
  format: 'copilot-cli',
  recognises: (value) =>
    isRecord(value) && isRecord(value['data']) && EVENT.test(stringOf(value['type']) ?? '') && 'id' in value,
  load: (values, context) => [loadEvents(values, context)],
}

function loadEvents(values: readonly SourceValue[], context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'copilot-cli', wire: 'openai-chat', ...context })
  for (const { value, line } of values) {
    if (!isRecord(value)) continue
    const data = objectOf(value['data'])
    switch (value['type']) {
      case 'system.message':
        builder.system(textOf(data['content']))
        break
      case 'user.message':
        builder.user([stringOf(data['transformedContent']) ?? textOf(data['content'])], line)
        break
      case 'system.notification':
        builder.user([textOf(data['content'])], line)
        break
      case 'assistant.message':
        addAnswer(builder, data, line, timeOf(value['timestamp']))
        break
      case 'tool.execution_complete':
        builder.user([resultOf(data)], line)
        break
      case 'session.compaction_complete':
        addCompaction(builder, data, line)
        break
    }
  }
  return builder.build()
}

function addAnswer(builder: RecordingBuilder, data: Fields, line: number, time: number | undefined): void {
  const calls = recordsIn(data['toolRequests']).map((request) => ({
    id: request['toolCallId'],
    type: 'function',
    function: { name: request['name'], arguments: jsonText(request['arguments'] ?? {}) },
  }))
  const [text, reasoning] = [textOf(data['content']), textOf(data['reasoningText'])]
  const message = {
    role: 'assistant',
    content: text === '' ? null : text,
    reasoning_content: reasoning === '' ? undefined : reasoning,
    tool_calls: calls.length > 0 ? calls : undefined,
  }
  builder.answer({
    pieces: text === '' && calls.length === 0 ? [] : [message],
    line,
    id: stringOf(data['apiCallId']),
    model: stringOf(data['model']),
    at: time,
  })
}

const resultOf = (data: Fields): Fields => ({
  role: 'tool',
  tool_call_id: data['toolCallId'],
  content: stringOf(at(data, 'result', 'content')) ?? textOf(at(data, 'error', 'message')),
})

function addCompaction(builder: RecordingBuilder, data: Fields, line: number): void {
  const summary = stringOf(data['summaryContent'])
  // A failed compaction changes nothing.
  if (summary === undefined || !builder.compact(line)) return
  builder.user([summary], line)
}
