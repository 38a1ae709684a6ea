import type { Usage } from '../../../core/usage.ts'
import { partsOfContent } from './anthropic-blocks.ts'
import { chatTools, partsOfChatMessage } from './chat-messages.ts'
import type { LoadContext, TranscriptLoader } from '../loader.ts'
import type { Part, Recording, WireMessage, Wire } from '../recording.ts'
import { partsOfItem } from './responses-items.ts'
import { anthropicUsage, openaiUsage } from '../usage.ts'
import { type Fields, isRecord, numberOf, recordsIn, stringOf } from '../../../core/values.ts'
import { at, jsonText, objectOf, optional } from '../values.ts'

/**
 * Requests as they were sent, one per line, bare or as `{ request, usage }`. Each is a recording with one call whose
 * body is the request; what the model answered is not in it.
 */
export const requestLog: TranscriptLoader = {
  format: 'request-log',
  recognises: (value) => isRecord(value) && wireOf(value) !== undefined,
  load: (records, context) =>
    records.flatMap(({ value, line }) => {
      const row = objectOf(value)
      const wire = wireOf(row)
      return wire === undefined ? [] : [recordingOf(row, wire, line, context)]
    }),
}

const requestOf = (row: Fields): Fields => (isRecord(row['request']) ? row['request'] : row)

function wireOf(row: Fields): Wire | undefined {
  const request = requestOf(row)
  if (Array.isArray(request['contents'])) return 'gemini'
  if (Array.isArray(request['messages'])) {
    const anthropic = row['provider'] === 'anthropic' || 'anthropic_version' in request || 'system' in request
    return anthropic ? 'anthropic-messages' : 'openai-chat'
  }
  return 'input' in request && 'model' in request ? 'openai-responses' : undefined
}

function recordingOf(row: Fields, wire: Wire, line: number, context: LoadContext): Recording {
  const request = requestOf(row)
  const model = stringOf(request['model']) ?? stringOf(row['model'])
  const messages = elementsOf(request, wire).map((value): WireMessage => {
    const parts = partsOf(value, wire)
    return { role: roleOf(value), parts, line, json: () => JSON.stringify(value) }
  })
  const call = {
    index: 0,
    wire,
    from: 0,
    to: messages.length,
    line,
    response: { parts: [], text: '', reasoning: '', calls: [] },
    ...optional('model', model),
    ...optional('usage', usageOf(row['usage'], wire)),
    body: () => JSON.stringify(request),
  }
  const { file, problems } = context
  return {
    format: 'request-log',
    file,
    ...optional('name', stringOf(row['id'])),
    wire,
    ...optional('model', model),
    ...optional('system', systemOf(request)),
    tools: toolsOf(request),
    messages,
    calls: [call],
    compactions: [],
    problems,
  }
}

function elementsOf(request: Fields, wire: Wire): readonly Fields[] {
  if (wire === 'gemini') return recordsIn(request['contents'])
  if (wire !== 'openai-responses') return recordsIn(request['messages'])
  return typeof request['input'] === 'string'
    ? [{ role: 'user', content: request['input'] }]
    : recordsIn(request['input'])
}

function roleOf(value: Fields): WireMessage['role'] {
  const role = stringOf(value['role'])
  if (role === 'assistant' || role === 'model') return 'assistant'
  if (role === 'system' || role === 'developer') return 'system'
  return role === 'tool' || stringOf(value['type'])?.endsWith('_output') === true ? 'tool' : 'user'
}

function partsOf(value: Fields, wire: Wire): readonly Part[] {
  if (wire === 'anthropic-messages')
    return partsOfContent(value['role'] === 'assistant' ? 'assistant' : 'user', value['content'])
  if (wire === 'openai-chat') return partsOfChatMessage(value)
  if (wire === 'openai-responses') return partsOfItem(value)
  return recordsIn(value['parts']).map((part): Part => {
    const call = part['functionCall']
    if (isRecord(call))
      return {
        kind: 'call',
        text: jsonText(call['args'] ?? {}),
        input: call['args'],
        ...optional('toolName', stringOf(call['name'])),
        raw: part,
      }
    const response = part['functionResponse']
    if (isRecord(response))
      return {
        kind: 'result',
        text: jsonText(response['response'] ?? {}),
        ...optional('toolName', stringOf(response['name'])),
        raw: part,
      }
    const kind = part['thought'] === true ? 'reasoning' : value['role'] === 'model' ? 'assistant' : 'user'
    return { kind, text: stringOf(part['text']) ?? '', raw: part }
  })
}

function systemOf(request: Fields): string | undefined {
  const system = request['system'] ?? request['instructions'] ?? at(request, 'systemInstruction', 'parts')
  if (typeof system === 'string') return system
  const text = recordsIn(system).map((block) => stringOf(block['text']) ?? '')
  return text.length > 0 ? text.join('\n') : undefined
}

function toolsOf(request: Fields): readonly { name: string; json: string }[] {
  const chat = chatTools(request['tools'])
  if (chat.length > 0) return chat
  const declared = recordsIn(request['tools']).flatMap((tool) =>
    Array.isArray(tool['functionDeclarations']) ? recordsIn(tool['functionDeclarations']) : [tool],
  )
  return declared.map((tool) => ({
    name: stringOf(tool['name']) ?? stringOf(tool['type']) ?? '',
    json: JSON.stringify(tool),
  }))
}

function usageOf(usage: unknown, wire: Wire): Usage | undefined {
  if (wire === 'anthropic-messages') return anthropicUsage(usage)
  if (wire !== 'gemini') return openaiUsage(usage)
  const input = numberOf(at(usage, 'promptTokenCount'))
  if (input === undefined) return undefined
  const reasoning = numberOf(at(usage, 'thoughtsTokenCount')) ?? 0
  return {
    input,
    cacheRead: numberOf(at(usage, 'cachedContentTokenCount')) ?? 0,
    cacheWrite: 0,
    output: (numberOf(at(usage, 'candidatesTokenCount')) ?? 0) + reasoning,
    reasoning,
  }
}
