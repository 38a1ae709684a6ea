import { recordOf, recordsIn, stringOf, type Fields } from '../core/values.ts'
import type { NewTool } from '../core/conversation.ts'
import type { MirrorMedia, MirrorMessage, MirrorPart } from '../formats/mirror.ts'
import type { ToolCall } from '../formats/wire/chat.ts'
import { declaredTool, type KnownCalls, type Piece, outputText } from './kit.ts'

/** A message of the prompt that the AI SDK gives to a language model. Fields that are not read here differ between versions. */
export interface PromptMessage {
  readonly role: string
  readonly content: unknown
}

/** One piece for each message; a message with several results gives one piece for each. */
export const piecesOf = (prompt: readonly PromptMessage[]): readonly Piece<PromptMessage>[] =>
  prompt.flatMap((message): Piece<PromptMessage>[] => {
    if (message.role !== 'tool') return [{ message: readMessage(message), own: [message] }]
    const parts = recordsIn(message.content)
    return parts
      .filter((part) => part['type'] === 'tool-result')
      .map((part, at) => ({
        message: { role: 'result', callId: stringOf(part['toolCallId']) ?? '', parts: outputParts(part['output']) },
        // Parts that are no results, such as the answer to a request for approval, stay with the first result.
        own: [{ ...message, content: at === 0 ? parts.filter((one) => one === part || !isResult(one)) : [part] }],
      }))
  })

const isResult = (part: Fields): boolean => part['type'] === 'tool-result'

function readMessage({ role, content }: PromptMessage): MirrorMessage {
  if (role === 'system') return { role: 'system', parts: [outputText(content)] }
  const parts = typeof content === 'string' ? [content] : recordsIn(content).flatMap(readPart)
  if (role !== 'assistant') return { role: 'user', parts }
  const calls = recordsIn(content).flatMap((part): ToolCall[] =>
    part['type'] === 'tool-call' && part['providerExecuted'] !== true
      ? [
          {
            id: stringOf(part['toolCallId']) ?? '',
            name: stringOf(part['toolName']) ?? '',
            input: recordOf(part['input']) ?? { input: part['input'] },
          },
        ]
      : [],
  )
  return { role: 'assistant', parts, calls }
}

/** Reasoning is left out: the provider decides how much of it counts, and its usage contains the number. */
function readPart(part: Fields): MirrorPart[] {
  if (part['type'] === 'text') return [stringOf(part['text']) ?? '']
  if (part['type'] === 'file') return [mediaOf(part['mediaType'], part['data'], part['filename'])]
  // The answer contains the result of a tool that the provider ran.
  if (part['type'] === 'tool-result') return outputParts(part['output'])
  return []
}

function mediaOf(mime: unknown, data: unknown, name?: unknown): MirrorMedia {
  const known = recordOf(data)
  // Version 7 wraps data in an object that names its kind.
  const value =
    known === undefined || known instanceof URL || known instanceof Uint8Array ? data : (known['data'] ?? known['url'])
  return {
    mime: stringOf(mime) ?? 'application/octet-stream',
    name: stringOf(name),
    ...(value instanceof Uint8Array && { data: Buffer.from(value).toString('base64') }),
    ...(value instanceof URL && { url: value.href }),
    ...(typeof value === 'string' && (/^https?:/.test(value) ? { url: value } : { data: value })),
  }
}

function outputParts(output: unknown): MirrorPart[] {
  const { type, value, reason } = recordOf(output) ?? {}
  if (type !== 'content') return [outputText(value ?? reason ?? '')]
  return recordsIn(value).map((part) =>
    part['type'] === 'text' ? (stringOf(part['text']) ?? '') : mediaOf(part['mediaType'], part['data'] ?? part['url']),
  )
}

export function writePrompt(message: MirrorMessage, calls: KnownCalls): PromptMessage[] {
  if (message.role === 'system') return [{ role: 'system', content: wordsOf(message.parts) }]
  if (message.role === 'result') {
    const { callId: toolCallId } = message
    const output = message.parts.every((part) => typeof part === 'string')
      ? { type: 'text', value: wordsOf(message.parts) }
      : { type: 'content', value: message.parts.map(resultPart) }
    return [
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId, toolName: calls.get(toolCallId) ?? 'tool', output }],
      },
    ]
  }
  const parts = message.parts.map(filePart)
  if (message.role === 'user') return [{ role: 'user', content: parts }]
  const made = message.calls.map(({ id, name, input }) => ({
    type: 'tool-call',
    toolCallId: id,
    toolName: name,
    input,
  }))
  return [{ role: 'assistant', content: [...parts, ...made] }]
}

export const wordsOf = (parts: readonly MirrorPart[]): string =>
  parts.filter((part) => typeof part === 'string').join('\n')

const filePart = (part: MirrorPart): Fields =>
  typeof part === 'string'
    ? { type: 'text', text: part }
    : {
        type: 'file',
        mediaType: part.mime,
        data: part.url === undefined ? part.data : new URL(part.url),
        filename: part.name,
      }

const resultPart = (part: MirrorPart): Fields =>
  typeof part === 'string'
    ? { type: 'text', text: part }
    : { type: part.url === undefined ? 'file-data' : 'file-url', mediaType: part.mime, data: part.data, url: part.url }

/** Joins results that were in one message. */
export function joined(messages: readonly PromptMessage[]): PromptMessage[] {
  const all: PromptMessage[] = []
  for (const message of messages) {
    const last = all.at(-1)
    if (message.role === 'tool' && last?.role === 'tool')
      all[all.length - 1] = { ...last, content: [...recordsIn(last.content), ...recordsIn(message.content)] }
    else all.push(message)
  }
  return all
}

/** Function tools only: tools that the provider runs are not declared with a schema. */
export const declaredTools = (tools: readonly unknown[] | undefined): NewTool[] =>
  recordsIn(tools).flatMap((tool) =>
    tool['type'] === 'function' ? declaredTool(tool['name'], tool['description'], tool['inputSchema']) : [],
  )

/** The fields of a model's usage report. */
export const USAGE = {
  input: 'inputTokens.total',
  cacheRead: 'inputTokens.cacheRead',
  cacheWrite: 'inputTokens.cacheWrite',
  output: 'outputTokens.total',
  reasoning: 'outputTokens.reasoning',
}
