import type { NewTool } from '../core/conversation.ts'
import { type Fields, parsedJson, recordOf, recordsIn, stringOf } from '../core/values.ts'
import { dataUrl, readUrl } from './kit/reading.ts'
import { FORMAT } from './openai-chat/decode.ts'
import { capKey, declare } from './openai-chat/encode.ts'
import type { ToolCall } from './wire/chat.ts'

/**
 * A conversation that comes from a framework, for models whose wire is not visible. It is written in the format that most servers imitate, for the
 * engine to read; the framework itself writes what is sent.
 */
export interface MirrorRequest {
  readonly model: string
  readonly messages: readonly MirrorMessage[]
  readonly tools: readonly NewTool[]
  readonly maxOutputTokens?: number
}

/** One message, independent of any wire. */
export type MirrorMessage =
  | { readonly role: 'system'; readonly parts: readonly MirrorPart[] }
  | { readonly role: 'user'; readonly parts: readonly MirrorPart[] }
  | { readonly role: 'assistant'; readonly parts: readonly MirrorPart[]; readonly calls: readonly ToolCall[] }
  | { readonly role: 'result'; readonly callId: string; readonly parts: readonly MirrorPart[] }

/** Text, or a picture or file. */
export type MirrorPart = string | MirrorMedia

export interface MirrorMedia {
  readonly mime: string
  /** Base64. */
  readonly data?: string
  readonly url?: string
  readonly name?: string
}

/** The API format of the written request. */
export const MIRROR_FORMAT = FORMAT

export function writeMirror({ model, messages, tools, maxOutputTokens }: MirrorRequest): Fields {
  return {
    model,
    messages: messages.map(writeMessage),
    tools: tools.length > 0 ? tools.map(declare) : undefined,
    ...(maxOutputTokens !== undefined && { [capKey(model)]: maxOutputTokens }),
  }
}

export function writeMessage(message: MirrorMessage): Fields {
  const content = contentOf(message.parts)
  if (message.role === 'result') return { role: 'tool', tool_call_id: message.callId, content: content ?? '' }
  if (message.role !== 'assistant') return { role: message.role, content: content ?? '' }
  const calls = message.calls.map(({ id, name, input }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  return {
    role: 'assistant',
    content: content ?? (calls.length > 0 ? null : ''),
    tool_calls: calls.length > 0 ? calls : undefined,
  }
}

function contentOf(parts: readonly MirrorPart[]): string | readonly Fields[] | undefined {
  const [only] = parts
  if (only === undefined) return undefined
  return parts.length === 1 && typeof only === 'string' ? only : parts.map(writePart)
}

function writePart(part: MirrorPart): Fields {
  if (typeof part === 'string') return { type: 'text', text: part }
  const { mime, data, url, name } = part
  const address = data === undefined ? (url ?? '') : dataUrl(mime, data)
  return mime.startsWith('image/')
    ? { type: 'image_url', image_url: { url: address } }
    : { type: 'file', file: { filename: name ?? 'file', file_data: address, mime } }
}

/** The conversation in a body that the engine returned. */
export interface MirrorAnswer {
  readonly messages: readonly Fields[]
  readonly maxOutputTokens?: number
  /** Tools stay declared and must not be called. */
  readonly forbidsTools: boolean
  /** Names of the remaining tools. */
  readonly tools: readonly string[]
}

export function readMirror(body: Fields): MirrorAnswer {
  const cap = body['max_completion_tokens'] ?? body['max_tokens']
  return {
    messages: recordsIn(body['messages']),
    maxOutputTokens: typeof cap === 'number' ? cap : undefined,
    forbidsTools: body['tool_choice'] === 'none',
    tools: recordsIn(body['tools']).map((tool) => stringOf(recordOf(tool['function'])?.['name']) ?? ''),
  }
}

export function readMessage(message: Fields): MirrorMessage {
  const parts = partsOf(message['content'])
  const role = message['role']
  if (role === 'tool') return { role: 'result', callId: stringOf(message['tool_call_id']) ?? '', parts }
  if (role !== 'assistant') return { role: role === 'system' ? 'system' : 'user', parts }
  const calls = recordsIn(message['tool_calls']).map((call): ToolCall => {
    const { name, arguments: input } = recordOf(call['function']) ?? {}
    const parsed = recordOf(parsedJson(stringOf(input) ?? ''))
    return { id: stringOf(call['id']) ?? '', name: stringOf(name) ?? '', input: parsed ?? {} }
  })
  return { role: 'assistant', parts, calls }
}

function partsOf(content: unknown): MirrorPart[] {
  const text = stringOf(content)
  if (text !== undefined) return text === '' ? [] : [text]
  return recordsIn(content).flatMap((part): MirrorPart[] => {
    const words = stringOf(part['text'])
    if (words !== undefined) return [words]
    const image = recordOf(part['image_url'])
    const file = recordOf(part['file'])
    const address = stringOf(image?.['url']) ?? stringOf(file?.['file_data'])
    if (address === undefined) return []
    const { mime, data, reference } = readUrl(address)
    const name = stringOf(file?.['filename'])
    return [
      {
        mime: mime ?? stringOf(file?.['mime']) ?? (image === undefined ? 'application/octet-stream' : 'image/*'),
        data,
        url: data === undefined && reference !== undefined ? reference : undefined,
        name,
      },
    ]
  })
}
