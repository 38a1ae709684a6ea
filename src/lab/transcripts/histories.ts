import { type Fields, isRecord, recordsIn, stringOf, textOf } from '../../core/values.ts'
import { CODECS } from '../../formats/registry.ts'
import { messageOf, RecordingBuilder } from './builder.ts'
import type { LoadContext, Recording, SourceValue, TranscriptLoader, Wire } from './recording.ts'
import { piecesOf, SHAPES, usageOn } from './shapes.ts'
import { objectOf } from './values.ts'

const BLOCKS = new Set(['tool_use', 'tool_result', 'thinking', 'redacted_thinking'])

/** An Anthropic history: an array of messages with blocks, one message per line, or a request body. */
export const anthropic: TranscriptLoader = {
  format: 'anthropic',
  recognises(value) {
    if (Array.isArray(value)) return value.length > 0 && value.every(isMessage) && value.some(hasBlocks)
    if (isBody(value)) return true
    return isMessage(value) && hasBlocks(value)
  },
  load: (values, context) =>
    [
      linesOf(values, isMessage),
      ...values.map(({ value, line }) => messagesIn(isBody(value) ? value['messages'] : value, line, value)),
    ]
      .filter(({ messages }) => messages.length > 0)
      .map((each) => history(each, context)),
}

interface History {
  readonly messages: readonly { readonly message: Fields; readonly line: number }[]
  /** The request without its messages. */
  readonly body: Fields
}

/** Messages on separate lines. */
const linesOf = (values: readonly SourceValue[], matches: (value: unknown) => boolean): History => ({
  messages: values.flatMap(({ value, line }) => (matches(value) ? [{ message: value as Fields, line }] : [])),
  body: {},
})

const messagesIn = (list: unknown, line: number, body?: unknown): History => ({
  messages: recordsIn(list).map((message) => ({ message, line })),
  body: objectOf(body),
})

const isMessage = (value: unknown): boolean =>
  isRecord(value) && (value['role'] === 'user' || value['role'] === 'assistant') && 'content' in value

const hasBlocks = (value: unknown): boolean =>
  isRecord(value) && recordsIn(value['content']).some((block) => BLOCKS.has(stringOf(block['type']) ?? ''))

/** Only the Messages API has `max_tokens` together with messages and a top-level system prompt or blocks. */
const isBody = (value: unknown): value is Fields =>
  isRecord(value) &&
  Array.isArray(value['messages']) &&
  value['messages'].every(isMessage) &&
  ('system' in value || 'max_tokens' in value) &&
  ('system' in value || 'anthropic_version' in value || value['messages'].some(hasBlocks))

function history({ messages, body }: History, context: LoadContext): Recording {
  const wire = 'anthropic-messages'
  const builder = new RecordingBuilder({ format: 'anthropic', wire, ...context })
  const { system } = body
  builder.model(stringOf(body['model']))
  builder.system(
    stringOf(system) ??
      recordsIn(system)
        .map((block) => textOf(block['text']))
        .join('\n\n'),
  )
  builder.tools(recordsIn(body['tools']).map((tool) => ({ name: textOf(tool['name']), json: JSON.stringify(tool) })))
  for (const { message, line } of messages) {
    const pieces = piecesOf(message['content'])
    if (message['role'] === 'user') builder.user(pieces, line)
    else builder.answer({ pieces, line, model: stringOf(message['model']), usage: usageOn(wire, message['usage']) })
  }
  return builder.build()
}

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

/** A Chat Completions history: an array of messages, or one message per line. */
export const openaiChat: TranscriptLoader = {
  format: 'openai-chat',
  recognises: (value) => (Array.isArray(value) ? isHistory(value) : isChatMessage(value)),
  load: (values, context) =>
    [...values.map(({ value, line }) => messagesIn(value, line)), linesOf(values, isChatMessage)]
      .filter(({ messages }) => messages.length > 0)
      .map(({ messages }) => {
        const builder = new RecordingBuilder({ format: 'openai-chat', wire: 'openai-chat', ...context })
        for (const { message, line } of messages) builder.chat(message, { line })
        return builder.build()
      }),
}

const isChatMessage = (value: unknown): boolean =>
  isRecord(value) && ROLES.has(stringOf(value['role']) ?? '') && ('content' in value || 'tool_calls' in value)

const isHistory = (value: readonly unknown[]): boolean => value.length > 0 && value.every(isChatMessage)

/**
 * Requests as they were sent, one per line, alone or as `{ request, usage }`. Each becomes a recording with one call whose body is the request. The
 * model's answers are not in the file.
 */
export const requestLog: TranscriptLoader = {
  format: 'request-log',
  recognises: (value) => isRecord(value) && wireOf(value) !== undefined,
  load: (values, context) =>
    values.flatMap(({ value, line }) => {
      const row = objectOf(value)
      const wire = wireOf(row)
      try {
        return wire === undefined ? [] : [recordingOf(row, wire, line, context)]
      } catch {
        context.problems.push({ line, message: 'This is not a request that its API would accept; left out.' })
        return []
      }
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
  const body = JSON.stringify(request)
  const { list: key, elements: elementsOf } = SHAPES[wire]
  const { tools, settings } = CODECS[wire].decode(body)
  // Instructions within the history stay messages of it.
  const { head } = CODECS[wire].decode(JSON.stringify({ ...request, [key]: [] }))
  const model = settings.model ?? stringOf(row['model'])
  const list = request[key]
  const elements = typeof list === 'string' ? elementsOf('user', [list]) : recordsIn(list)
  const messages = elements.map((element) => messageOf(wire, element, line))
  const call = {
    index: 0,
    from: 0,
    to: messages.length,
    line,
    response: { parts: [] },
    model,
    usage: usageOn(wire, row['usage']),
    body: () => body,
  }
  return {
    format: 'request-log',
    file: context.file,
    name: stringOf(row['id']),
    wire,
    model,
    system: head.length > 0 ? head.map(({ text }) => text).join('\n') : undefined,
    tools: tools.map(({ name, text }) => ({ name, json: text })),
    messages,
    calls: [call],
    compactions: [],
    problems: context.problems,
  }
}
