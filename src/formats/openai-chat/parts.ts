import type { Item, Media, Role } from '../../core/item.ts'
import { mediaTypeOf, readUrl } from '../kit/media.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf, defined } from '../kit/reading.ts'
import { REASONING_KEYS } from './source.ts'
import type { Writable } from '../../util/writable.ts'

type Fields = Readonly<Record<string, unknown>>
export type ItemCore = Pick<Item, 'kind' | 'text'> & Partial<Pick<Item, 'callId' | 'toolName' | 'sealed' | 'media'>>

/** Reads one content part; `raw` gives its JSON text. */
export function readPart(part: Fields, role: Role, raw: () => string): ItemCore {
  const text = stringOf(part['text']) ?? stringOf(part['refusal'])
  const type = stringOf(part['type'])
  if (text !== undefined && (type === 'text' || type === 'refusal')) return { kind: kindOf(role), text }
  if (type === 'thinking') return { kind: 'reasoning', text: thinkingText(part['thinking']), sealed: true }
  const media = readMedia(part)
  if (media !== undefined) return { kind: 'media', text: '', media: [media] }
  return { kind: 'opaque', text: raw(), sealed: true }
}

export function kindOf(role: Role): 'instruction' | 'assistant' | 'user' {
  return role === 'system' ? 'instruction' : role === 'assistant' ? 'assistant' : 'user'
}

function readMedia(part: Fields): Media | undefined {
  const type = stringOf(part['type'])
  if (type === 'image_url') return { type: 'image', ...readUrl(urlOf(part['image_url'])) }
  if (type === 'video_url') return { type: 'video', ...readUrl(urlOf(part['video_url'])) }
  if (type === 'input_audio') {
    const audio = recordOf(part['input_audio']) ?? {}
    const format = stringOf(audio['format'])
    return defined({
      type: 'audio' as const,
      mime: format === undefined ? undefined : `audio/${format}`,
      data: stringOf(audio['data']),
    })
  }
  if (type !== 'file') return undefined
  const file = recordOf(part['file']) ?? {}
  const payload = readUrl(stringOf(file['file_data']))
  return defined({
    type: mediaTypeOf(payload.mime),
    mime: payload.mime,
    // Without the `data:` head, file_data is the bare payload.
    data: payload.data ?? payload.reference,
    reference: stringOf(file['file_id']),
    name: stringOf(file['filename']),
  })
}

/** Some vendors take the URL itself where OpenAI takes an object with a `url`. */
const urlOf = (value: unknown): string | undefined => stringOf(value) ?? stringOf(recordOf(value)?.['url'])

/** Mistral's thinking part holds text parts of its own. */
function thinkingText(value: unknown): string {
  const texts = (arrayOf(value) ?? []).map((part) => stringOf(recordOf(part)?.['text']) ?? '')
  return stringOf(value) ?? texts.join('\n')
}

/** One entry of `tool_calls`. `rawArguments` gives arguments that a vendor sends as an object, as they stand on the wire. */
export function readCall(call: Fields, rawArguments: () => string): ItemCore {
  const body = recordOf(call['function']) ?? recordOf(call['custom'])
  if (body === undefined) return defined({ kind: 'call' as const, text: '', callId: stringOf(call['id']) })
  const text = stringOf(body['arguments']) ?? stringOf(body['input']) ?? rawArguments()
  const [callId, toolName] = [stringOf(call['id']), stringOf(body['name'])]
  const core: Writable<ItemCore> = { kind: 'call', text }
  if (callId !== undefined) core.callId = callId
  if (toolName !== undefined) core.toolName = toolName
  // Google's OpenAI-compatible endpoint signs the call itself.
  if (recordOf(recordOf(call['extra_content'])?.['google'])?.['thought_signature'] !== undefined) core.sealed = true
  return core
}

/** The reasoning of an assistant message, wherever the vendor keeps it. */
export function readReasoning(message: Fields): (ItemCore & { readonly keys: readonly string[] }) | undefined {
  const keys = REASONING_KEYS.filter((key) => isReasoning(message[key]))
  if (keys.length === 0) return undefined
  const plain = stringOf(message['reasoning_content']) ?? stringOf(message['reasoning'])
  const structured = keys.flatMap((key) => arrayOf(message[key]) ?? [])
  const words = structured.map((value) => {
    const entry = recordOf(value) ?? {}
    return stringOf(entry['text']) ?? stringOf(entry['summary']) ?? stringOf(entry['thinking']) ?? ''
  })
  return {
    kind: 'reasoning',
    text: plain ?? words.filter((text) => text !== '').join('\n'),
    // Plain text is the vendor's courtesy; entries can be signed or encrypted and must come back as they were.
    ...(keys.some((key) => typeof message[key] !== 'string') && { sealed: true }),
    keys,
  }
}

const isReasoning = (value: unknown): boolean =>
  typeof value === 'string' ? value !== '' : Array.isArray(value) ? value.length > 0 : recordOf(value) !== undefined

/** What a tool message says: its text, and the pictures that some vendors allow in it. */
export function readResultContent(content: unknown): Pick<Item, 'text' | 'media'> {
  const plain = stringOf(content)
  if (plain !== undefined) return { text: plain }
  const parts = (arrayOf(content) ?? []).map((part) => recordOf(part) ?? {})
  const media = parts.map(readMedia).filter((part) => part !== undefined)
  const texts = parts.map((part) => stringOf(part['text'])).filter((text) => text !== undefined)
  return { text: texts.join('\n'), ...(media.length > 0 && { media }) }
}
