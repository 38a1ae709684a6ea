import type { Usage } from '../../core/usage.ts'
import { RecordingBuilder } from './builder.ts'
import type { LoadContext, TranscriptLoader } from './loader.ts'
import type { Part, Recording } from './recording.ts'
import type { SourceRecord } from './source.ts'
import { at, isObject, jsonText, numberOf, objectsOf, optional, textOf, timeOf } from './values.ts'
import type { JsonObject } from './values.ts'

/**
 * Gemini CLI's chat recording: one JSON object with `messages`, or (newer) JSON lines where a message with a known id
 * replaces the older one, `$set` changes the session's fields and `$rewindTo` takes messages back.
 */
export const geminiCli: TranscriptLoader = {
  format: 'gemini-cli',
  recognises(value) {
    if (!isObject(value)) return false
    if (isObject(value['$set']) || '$rewindTo' in value) return true
    if ('sessionId' in value && 'projectHash' in value) return true
    return isMessage(value) && 'timestamp' in value && !('uuid' in value)
  },
  load(records, context) {
    const sessions: JsonObject[][] = []
    const lines = new Map<JsonObject, number>()
    let current: JsonObject[] | undefined
    for (const record of records) {
      if (!isObject(record.value)) continue
      if ('sessionId' in record.value && 'projectHash' in record.value) {
        current = []
        sessions.push(current)
        for (const message of objectsOf(record.value['messages'])) addMessage(current, message, lines, record.line)
      } else {
        if (current === undefined) sessions.push((current = []))
        applyRecord(current, record, lines)
      }
    }
    return sessions.map((messages) => loadSession(messages, lines, context))
  },
}

const isMessage = (value: JsonObject): boolean =>
  ['user', 'gemini', 'info', 'error', 'warning'].includes(textOf(value['type']) ?? '') &&
  'id' in value &&
  'content' in value

function applyRecord(messages: JsonObject[], { value, line }: SourceRecord, lines: Map<JsonObject, number>): void {
  const record = value as JsonObject
  const rewindTo = textOf(record['$rewindTo'])
  if (rewindTo !== undefined) {
    const index = messages.findIndex((message) => message['id'] === rewindTo)
    if (index >= 0) messages.length = index
  } else if (isObject(record['$set'])) {
    // A checkpoint carries the whole list; other fields do not concern the history.
    if (!Array.isArray(record['$set']['messages'])) return
    messages.length = 0
    for (const message of objectsOf(record['$set']['messages'])) addMessage(messages, message, lines, line)
  } else if (isMessage(record)) addMessage(messages, record, lines, line)
}

function addMessage(messages: JsonObject[], message: JsonObject, lines: Map<JsonObject, number>, line: number): void {
  lines.set(message, line)
  const index = message['id'] === undefined ? -1 : messages.findIndex((other) => other['id'] === message['id'])
  if (index >= 0) messages[index] = message
  else messages.push(message)
}

function loadSession(messages: readonly JsonObject[], lines: Map<JsonObject, number>, context: LoadContext): Recording {
  const builder = new RecordingBuilder({ format: 'gemini-cli', wire: 'gemini', ...context })
  for (const message of messages) {
    const line = lines.get(message) ?? 0
    if (message['type'] === 'user') builder.user(partsOf('user', message['content']), line)
    else if (message['type'] === 'gemini') addAnswer(builder, message, line)
  }
  return builder.build()
}

function addAnswer(builder: RecordingBuilder, message: JsonObject, line: number): void {
  const thoughts = objectsOf(message['thoughts']).map((thought): Part => ({
    kind: 'reasoning',
    text: [thought['subject'], thought['description']].map(jsonText).join('\n'),
  }))
  const calls = objectsOf(message['toolCalls'])
  builder.answer({
    parts: [...thoughts, ...partsOf('assistant', message['content']), ...calls.map(callPart)],
    line,
    ...optional('model', textOf(message['model'])),
    ...optional('usage', usageOf(message['tokens'])),
    ...optional('at', timeOf(message['timestamp'])),
  })
  for (const call of calls) builder.user(resultParts(call), line)
}

function partsOf(kind: 'user' | 'assistant', content: unknown): readonly Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ kind, text: content }]
  const parts = Array.isArray(content) ? content : [content]
  return parts.flatMap((part): Part[] => {
    if (typeof part === 'string') return part === '' ? [] : [{ kind, text: part }]
    if (!isObject(part)) return []
    const text = textOf(part['text'])
    if (text !== undefined) return text === '' ? [] : [{ kind, text, raw: part }]
    return [{ kind: 'media', text: '', mediaBytes: (textOf(at(part, 'inlineData', 'data')) ?? '').length, raw: part }]
  })
}

const callPart = (call: JsonObject): Part => ({
  kind: 'call',
  text: jsonText(call['args'] ?? {}),
  input: call['args'] ?? {},
  ...optional('callId', textOf(call['id'])),
  ...optional('toolName', textOf(call['name'])),
})

/** The function's response, and beside it whatever media it brought along. */
function resultParts(call: JsonObject): readonly Part[] {
  const result = call['result']
  const named = { ...optional('callId', textOf(call['id'])), ...optional('toolName', textOf(call['name'])) }
  const failed = call['status'] === 'error' ? { isError: true } : {}
  if (typeof result === 'string') return [{ kind: 'result', text: result, ...named, ...failed }]
  let answered = false
  return (Array.isArray(result) ? result : [result]).flatMap((part): Part[] => {
    if (!isObject(part)) return []
    const response = at(part, 'functionResponse', 'response')
    if (response === undefined || answered) {
      return [
        {
          kind: 'media',
          text: textOf(part['text']) ?? '',
          mediaBytes: (textOf(at(part, 'inlineData', 'data')) ?? '').length,
          raw: part,
        },
      ]
    }
    answered = true
    const text = textOf(at(response, 'output')) ?? textOf(at(response, 'error')) ?? jsonText(response)
    return [{ kind: 'result', text, raw: part, ...named, ...failed }]
  })
}

function usageOf(tokens: unknown): Usage | undefined {
  const input = numberOf(at(tokens, 'input'))
  if (input === undefined) return undefined
  const reasoning = numberOf(at(tokens, 'thoughts')) ?? 0
  const cacheRead = numberOf(at(tokens, 'cached')) ?? 0
  return { input, cacheRead, cacheWrite: 0, output: (numberOf(at(tokens, 'output')) ?? 0) + reasoning, reasoning }
}
