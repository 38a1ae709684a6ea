import type { Item, Media, Role } from '../../core/item.ts'
import { compactJson } from '../json/json-index.ts'
import { mediaTypeOf } from '../kit/media.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf, defined } from '../kit/reading.ts'
import { valueAt } from './source.ts'

type Fields = Readonly<Record<string, unknown>>
export type ItemCore = Pick<Item, 'kind' | 'role' | 'text'> &
  Partial<Pick<Item, 'callId' | 'toolName' | 'isError' | 'serverSide' | 'sealed' | 'sealedCharacters' | 'media'>>

/** Gives the JSON text of a value below the part as it stands on the wire; without keys, of the part itself. */
export type Raw = (...keys: string[]) => string

export function readPart(part: Fields, role: Role, raw: Raw): ItemCore {
  const signed = valueAt(part, 'thoughtSignature') !== undefined
  const text = stringOf(part['text'])
  if (text !== undefined) return readText(part, text, role, signed)
  const inner = (key: string): Fields | undefined => recordOf(valueAt(part, key))
  const call = inner('functionCall')
  if (call !== undefined) {
    return defined({
      kind: 'call' as const,
      role: 'assistant' as const,
      text: call['args'] === undefined ? '{}' : raw('functionCall', 'args'),
      ...named(call),
      sealed: signed ? true : undefined,
      sealedCharacters: stringOf(valueAt(part, 'thoughtSignature'))?.length,
    })
  }
  const response = inner('functionResponse')
  if (response !== undefined) return readResponsePart(response, () => raw('functionResponse', 'response'))
  const server = readServerPart(part, raw)
  if (server !== undefined) return server
  const media = readMedia(part)
  if (media !== undefined) return { kind: 'media', role, text: '', media: [media], ...(signed && { sealed: true }) }
  return { kind: 'opaque', role, text: raw(), sealed: true }
}

function readText(part: Fields, text: string, role: Role, signed: boolean): ItemCore {
  const sealed = signed ? ({ sealed: true } as const) : {}
  if (part['thought'] === true) return { kind: 'reasoning', role, text, ...sealed }
  // A stream can end on an empty text that only carries the signature of the thoughts before it.
  if (text === '' && signed) return { kind: 'reasoning', role, text, sealed: true }
  return { kind: role === 'assistant' ? 'assistant' : 'user', role, text }
}

const named = (fields: Fields): { callId: string | undefined; toolName: string | undefined } => ({
  callId: stringOf(fields['id']),
  toolName: stringOf(fields['name']),
})

/** A response is an object; where it is nothing but one string, that string is what the model reads. */
function readResponsePart(response: Fields, raw: () => string): ItemCore {
  const body = recordOf(response['response'])
  const key = textKeyOf(body)
  const media = (arrayOf(response['parts']) ?? []).map((part) => readMedia(recordOf(part) ?? {}))
  const found = media.filter((part) => part !== undefined)
  return defined({
    kind: 'result' as const,
    role: 'tool' as const,
    text: key !== undefined ? String(body![key]) : body === undefined ? '' : compactJson(raw()),
    ...named(response),
    isError: key === 'error' ? true : undefined,
    media: found.length > 0 ? found : undefined,
  })
}

/** The only member of a response, if it is a string. */
export function textKeyOf(response: Fields | undefined): string | undefined {
  const keys = Object.keys(response ?? {})
  const [key] = keys
  return keys.length === 1 && typeof response![key!] === 'string' ? key : undefined
}

/** Tools that Google runs: code execution, and the call and response parts of the others. */
function readServerPart(part: Fields, raw: Raw): ItemCore | undefined {
  const ours = { role: 'assistant', serverSide: true, sealed: true } as const
  const code = recordOf(valueAt(part, 'executableCode'))
  if (code !== undefined) {
    const text = stringOf(code['code']) ?? ''
    return defined({ kind: 'call' as const, ...ours, text, callId: stringOf(code['id']), toolName: 'code_execution' })
  }
  const outcome = recordOf(valueAt(part, 'codeExecutionResult'))
  if (outcome !== undefined) {
    return defined({
      kind: 'result' as const,
      ...ours,
      text: stringOf(outcome['output']) ?? '',
      callId: stringOf(outcome['id']),
      toolName: 'code_execution',
      isError: outcome['outcome'] === 'OUTCOME_OK' ? undefined : true,
    })
  }
  for (const [key, kind, says] of [
    ['toolCall', 'call', 'args'],
    ['toolResponse', 'result', 'response'],
  ] as const) {
    const fields = recordOf(valueAt(part, key))
    if (fields === undefined) continue
    const toolName = stringOf(valueAt(fields, 'toolType'))
    const text = fields[says] === undefined ? '{}' : raw(key, says)
    return defined({ kind, ...ours, text, callId: stringOf(fields['id']), toolName })
  }
  return undefined
}

function readMedia(part: Fields): Media | undefined {
  const inline = recordOf(valueAt(part, 'inlineData'))
  const file = recordOf(valueAt(part, 'fileData'))
  const fields = inline ?? file
  if (fields === undefined) return undefined
  const mime = stringOf(valueAt(fields, 'mimeType'))
  return defined({
    type: mediaTypeOf(mime),
    mime,
    data: stringOf(inline?.['data']),
    reference: stringOf(valueAt(file, 'fileUri')),
    name: stringOf(valueAt(fields, 'displayName')),
  })
}
