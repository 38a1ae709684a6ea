import type { Usage } from '../../../core/usage.ts'
import { RecordingBuilder } from '../builder.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Part, Recording } from '../recording.ts'
import { at, isObject, jsonText, numberOf, objectOf, objectsOf, optional, textOf, timeOf } from '../values.ts'
import type { JsonObject } from '../values.ts'

/**
 * OpenCode's session as `opencode export` writes it: `{ info, messages: [{ info, parts }] }`. A tool part holds the call and
 * its result; `step-start` begins another model call inside one message.
 */
export const openCode: TranscriptLoader = {
  format: 'opencode',
  recognises: (value) =>
    isObject(value) &&
    objectsOf(value['messages'])
      .slice(0, 1)
      .some((message) => isObject(message['info']) && Array.isArray(message['parts'])),
  load: (records, context) => records.map(({ value, line }) => loadSession(objectOf(value), line, context)),
}

function loadSession(document: JsonObject, line: number, context: LoadContext): Recording {
  const name = textOf(at(document, 'info', 'title'))
  const builder = new RecordingBuilder({
    format: 'opencode',
    wire: 'anthropic-messages',
    ...context,
    ...optional('name', name),
  })
  for (const message of objectsOf(document['messages'])) {
    const info = objectOf(message['info'])
    const parts = objectsOf(message['parts'])
    if (info['role'] === 'assistant') addSteps(builder, info, parts, line)
    else builder.user(parts.flatMap(userPart), line)
  }
  return builder.build()
}

function addSteps(builder: RecordingBuilder, info: JsonObject, parts: readonly JsonObject[], line: number): void {
  // OpenCode writes its summary as an assistant message and sends nothing older from then on.
  if (info['summary'] === true) {
    const text = parts.map((part) => (part['type'] === 'text' ? (textOf(part['text']) ?? '') : '')).join('\n')
    if (builder.compact(line)) builder.user([{ kind: 'user', text }], line)
    return
  }
  const steps: { parts: JsonObject[]; tokens: unknown }[] = []
  for (const part of parts) {
    if (part['type'] === 'step-start' || steps.length === 0) steps.push({ parts: [], tokens: undefined })
    const step = steps.at(-1)
    if (part['type'] === 'step-finish' && step !== undefined) step.tokens = part['tokens']
    else step?.parts.push(part)
  }
  for (const step of steps) {
    builder.answer({
      parts: step.parts.flatMap(assistantPart),
      line,
      ...optional('model', textOf(info['modelID'])),
      ...optional('usage', usageOf(step.tokens ?? (steps.length === 1 ? info['tokens'] : undefined))),
      ...optional('at', timeOf(at(info, 'time', 'created'))),
    })
    builder.user(step.parts.flatMap(resultPart), line)
  }
}

function userPart(part: JsonObject): readonly Part[] {
  if (part['type'] === 'text') return [{ kind: 'user', text: textOf(part['text']) ?? '' }]
  if (part['type'] !== 'file') return []
  const url = textOf(part['url']) ?? ''
  return [{ kind: 'media', text: textOf(part['filename']) ?? '', mediaBytes: url.startsWith('data:') ? url.length : 0 }]
}

function assistantPart(part: JsonObject): readonly Part[] {
  if (part['type'] === 'text') return [{ kind: 'assistant', text: textOf(part['text']) ?? '' }]
  if (part['type'] === 'reasoning') return [{ kind: 'reasoning', text: textOf(part['text']) ?? '' }]
  if (part['type'] !== 'tool') return []
  const input = at(part, 'state', 'input') ?? {}
  return [{ kind: 'call', text: jsonText(input), input, ...names(part) }]
}

function resultPart(part: JsonObject): readonly Part[] {
  if (part['type'] !== 'tool') return []
  const error = textOf(at(part, 'state', 'error'))
  const text = textOf(at(part, 'state', 'output')) ?? error
  if (text === undefined) return []
  return [{ kind: 'result', text, ...names(part), ...(error !== undefined && { isError: true }) }]
}

const names = (part: JsonObject) => ({
  ...optional('callId', textOf(part['callID'])),
  ...optional('toolName', textOf(part['tool'])),
})

/** OpenCode's input excludes cached tokens, its output excludes reasoning. */
function usageOf(tokens: unknown): Usage | undefined {
  const plain = numberOf(at(tokens, 'input'))
  if (plain === undefined) return undefined
  const cacheRead = numberOf(at(tokens, 'cache', 'read')) ?? 0
  const cacheWrite = numberOf(at(tokens, 'cache', 'write')) ?? 0
  const reasoning = numberOf(at(tokens, 'reasoning')) ?? 0
  const output = (numberOf(at(tokens, 'output')) ?? 0) + reasoning
  return { input: plain + cacheRead + cacheWrite, cacheRead, cacheWrite, output, reasoning }
}
