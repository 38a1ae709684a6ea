import type { ItemCore, Media, Role } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf, defined } from '../kit/reading.ts'
import { sealedBy } from '../kit/sealed.ts'
import { isServerCall, isServerResult } from './source.ts'

type Block = Readonly<Record<string, unknown>>

/** Reads one content block. `raw` gives its JSON text, `rawInput` that of a call's arguments, as they stand on the wire. */
export function readBlock(block: Block, role: Role, raw: () => string, rawInput: () => string): ItemCore {
  const type = stringOf(block['type']) ?? ''
  if (type === 'text') return { kind: role === 'assistant' ? 'assistant' : 'user', text: stringOf(block['text']) ?? '' }
  if (type === 'thinking') return { kind: 'reasoning', text: stringOf(block['thinking']) ?? '', sealed: true }
  // Encrypted: only its issuer can read it, so there is no text to show; the meter takes its size from the payload.
  if (type === 'redacted_thinking') {
    return { kind: 'reasoning', text: '', sealed: true, ...sealedBy(stringOf(block['data'])) }
  }
  if (type === 'tool_use' || isServerCall(type)) return readCall(block, type, rawInput())
  if (type === 'tool_result') return readResult(block)
  if (isServerResult(type)) {
    return defined({
      kind: 'result' as const,
      text: raw(),
      callId: stringOf(block['tool_use_id']),
      serverSide: true,
      sealed: true,
    })
  }
  if (type === 'image' || type === 'document')
    return { kind: 'media', text: documentText(block), media: [readMedia(block)] }
  if (type === 'compaction') return { kind: 'opaque', text: raw(), sealed: true, standsForPrefix: true }
  return { kind: 'opaque', text: raw(), sealed: true }
}

function readCall(block: Block, type: string, text: string): ItemCore {
  return defined({
    kind: 'call' as const,
    text,
    callId: stringOf(block['id']),
    toolName: stringOf(block['name']),
    serverSide: isServerCall(type) ? true : undefined,
  })
}

function readResult(block: Block): ItemCore {
  const content = block['content']
  const parts = (arrayOf(content) ?? []).map((part) => recordOf(part) ?? {})
  const media = parts.filter((part) => part['type'] === 'image' || part['type'] === 'document').map(readMedia)
  const texts = parts.map((part) => stringOf(part['text'])).filter((text) => text !== undefined)
  return defined({
    kind: 'result' as const,
    text: stringOf(content) ?? texts.join('\n'),
    callId: stringOf(block['tool_use_id']),
    isError: block['is_error'] === true ? true : undefined,
    media: media.length > 0 ? media : undefined,
  })
}

function readMedia(block: Block): Media {
  const source = recordOf(block['source']) ?? {}
  return defined({
    type: block['type'] === 'image' ? ('image' as const) : ('document' as const),
    mime: stringOf(source['media_type']),
    data: source['type'] === 'base64' ? stringOf(source['data']) : undefined,
    reference: stringOf(source['url']) ?? stringOf(source['file_id']),
    name: stringOf(block['title']),
  })
}

/** A document can carry plain text instead of a file; that text is what the model reads. */
function documentText(block: Block): string {
  const source = recordOf(block['source'])
  if (source?.['type'] === 'text') return stringOf(source['data']) ?? ''
  return ''
}
