import type { Usage } from '../../core/usage.ts'
import { type Fields, isRecord, numberOf, recordsIn, stringOf } from '../../core/values.ts'
import { RecordingBuilder } from './builder.ts'
import { addChatMessage, chatTools, partsOfChatMessage, partsOfContent, partsOfItem } from './messages.ts'
import type { LoadContext, Part, Recording, TranscriptLoader, Wire, WireMessage } from './recording.ts'
import { anthropicUsage, at, jsonText, objectOf, openaiUsage } from './values.ts'

const BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking'])

/** An Anthropic history: an array of messages with blocks, one message per line, or a request body. */
export const anthropic: TranscriptLoader = {
  format: 'anthropic',
  recognises(value) {
    if (Array.isArray(value)) return value.length > 0 && value.every(isMessage) && value.some(hasBlocks)
    if (isBody(value)) return true
    return isMessage(value) && hasBlocks(value)
  },
  load(records, context) {
    const recordings: Recording[] = []
    const loose = records
      .filter(({ value }) => isMessage(value))
      .map(({ value, line }) => ({ message: value as Fields, line }))
    if (loose.length > 0) recordings.push(history(loose, context))
    for (const { value, line } of records) {
      const messages = Array.isArray(value) ? value : isBody(value) ? value['messages'] : undefined
      if (messages === undefined) continue
      const lines = recordsIn(messages).map((message) => ({ message, line }))
      recordings.push(history(lines, context, isRecord(value) ? value : {}))
    }
    return recordings
  },
}

const isMessage = (value: unknown): boolean =>
  isRecord(value) && (value['role'] === 'user' || value['role'] === 'assistant') && 'content' in value

const hasBlocks = (value: unknown): boolean =>
  isRecord(value) && recordsIn(value['content']).some((block) => BLOCKS.has(stringOf(block['type']) ?? ''))

/** `max_tokens` with messages and a top-level system or blocks: only the Messages API has these. */
const isBody = (value: unknown): value is Fields =>
  isRecord(value) &&
  Array.isArray(value['messages']) &&
  value['messages'].every(isMessage) &&
  ('system' in value || 'max_tokens' in value) &&
  ('system' in value || 'anthropic_version' in value || value['messages'].some(hasBlocks))

function history(
  messages: readonly { readonly message: Fields; readonly line: number }[],
  context: LoadContext,
  body: Fields = {},
): Recording {
  const builder = new RecordingBuilder({ format: 'anthropic', wire: 'anthropic-messages', ...context })
  builder.model(stringOf(body['model']))
  builder.system(systemText(body['system']))
  builder.tools(
    recordsIn(body['tools']).map((tool) => ({ name: stringOf(tool['name']) ?? '', json: JSON.stringify(tool) })),
  )
  for (const { message, line } of messages) {
    if (message['role'] === 'user') builder.user(partsOfContent('user', message['content']), line)
    else {
      builder.answer({
        parts: partsOfContent('assistant', message['content']),
        line,
        model: stringOf(message['model']),
        usage: anthropicUsage(message['usage']),
      })
    }
  }
  return builder.build()
}

const systemText = (system: unknown): string =>
  typeof system === 'string'
    ? system
    : recordsIn(system)
        .map((block) => stringOf(block['text']) ?? '')
        .join('\n\n')

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** A Chat Completions history: an array of messages, or one message per line. */
export const openaiChat: TranscriptLoader = {
  format: 'openai-chat',
  recognises: (value) => (Array.isArray(value) ? isHistory(value) : isChatMessage(value)),
  load(records, context) {
    const histories = records.filter(({ value }) => Array.isArray(value))
    const loose = records.filter(({ value }) => isChatMessage(value))
    const sources = histories.map(({ value, line }) => recordsIn(value).map((message) => ({ message, line })))
    if (loose.length > 0) sources.push(loose.map(({ value, line }) => ({ message: value as Fields, line })))
    return sources.map((messages) => {
      const builder = new RecordingBuilder({ format: 'openai-chat', wire: 'openai-chat', ...context })
      for (const { message, line } of messages) addChatMessage(builder, message, { line }, context.options)
      return builder.build()
    })
  },
}

const isChatMessage = (value: unknown): boolean =>
  isRecord(value) && ROLES.has(stringOf(value['role']) ?? '') && ('content' in value || 'tool_calls' in value)

const isHistory = (value: readonly unknown[]): boolean => value.length > 0 && value.every(isChatMessage)

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
    model,
    usage: usageOf(row['usage'], wire),
    body: () => JSON.stringify(request),
  }
  const { file, problems } = context
  return {
    format: 'request-log',
    file,
    name: stringOf(row['id']),
    wire,
    model,
    system: systemOf(request),
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
        toolName: stringOf(call['name']),
        raw: part,
      }
    const response = part['functionResponse']
    if (isRecord(response))
      return {
        kind: 'result',
        text: jsonText(response['response'] ?? {}),
        toolName: stringOf(response['name']),
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
