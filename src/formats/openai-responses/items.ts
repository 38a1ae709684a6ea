import type { Item, ItemCore, Media, Role } from '../../core/item.ts'
import { compactJson } from '../json/json-index.ts'
import { mediaTypeOf, readUrl } from '../kit/media.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf, defined } from '../kit/reading.ts'
import { sealedBy } from '../kit/sealed.ts'
import { typeOf } from './source.ts'

type Fields = Readonly<Record<string, unknown>>
export type RoledCore = ItemCore & Pick<Item, 'role'>

/** Gives the JSON text of a member as it stands on the wire, or of the whole item. */
export type Raw = (key?: string) => string

/** Calls that are answered by an item of their own: the tool's name, and the member that holds what it is asked to do. */
const CALLS: Readonly<Record<string, { readonly name?: string; readonly asks: string }>> = {
  function_call: { asks: 'arguments' },
  custom_tool_call: { asks: 'input' },
  local_shell_call: { name: 'local_shell', asks: 'action' },
  shell_call: { name: 'shell', asks: 'action' },
  apply_patch_call: { name: 'apply_patch', asks: 'operation' },
  computer_call: { name: 'computer', asks: 'action' },
  tool_search_call: { name: 'tool_search', asks: 'arguments' },
  mcp_approval_request: { asks: 'arguments' },
  program: { name: 'program', asks: 'code' },
}

const RESULTS: Readonly<Record<string, { readonly name?: string; readonly says: string; readonly sealed?: true }>> = {
  function_call_output: { says: 'output' },
  custom_tool_call_output: { says: 'output' },
  local_shell_call_output: { name: 'local_shell', says: 'output' },
  shell_call_output: { name: 'shell', says: 'output' },
  apply_patch_call_output: { name: 'apply_patch', says: 'output' },
  // A screenshot has no room for text, an approval must stay a yes or a no, and the others are the provider's own words.
  computer_call_output: { name: 'computer', says: 'output', sealed: true },
  tool_search_output: { name: 'tool_search', says: 'tools', sealed: true },
  mcp_approval_response: { says: 'approve', sealed: true },
  program_output: { name: 'program', says: 'result', sealed: true },
}

/** A fingerprint covers a program, a person was asked about exactly this request, and an action on a screen is no text. */
const SEALED_CALLS = new Set(['program', 'mcp_approval_request', 'computer_call'])

/** Tools that the provider ran by itself: call and outcome are one item, so there is no pair to keep together. */
const SERVER_RUNS = new Set(['web_search_call', 'file_search_call', 'code_interpreter_call', 'mcp_call'])

/** Opaque items that do not come from the model. */
const ROLES: Readonly<Record<string, Role>> = {
  additional_tools: 'system',
  configuration_update: 'system',
  compaction_trigger: 'user',
}

/** Reads one element of `input` or `output` that is no message. */
export function readItem(fields: Fields, raw: Raw): RoledCore {
  const type = typeOf(fields)
  if (type === 'reasoning') {
    const core = { kind: 'reasoning', role: 'assistant', text: reasoningText(fields), sealed: true } as const
    return { ...core, ...sealedBy(stringOf(fields['encrypted_content'])) }
  }
  if (CALLS[type] !== undefined) return readCall(fields, type, raw)
  if (RESULTS[type] !== undefined) return readResult(fields, type, raw)
  if (type === 'image_generation_call') {
    const format = stringOf(fields['output_format']) ?? 'png'
    const media = defined({ type: 'image' as const, mime: `image/${format}`, data: stringOf(fields['result']) })
    return { kind: 'media', role: 'assistant', text: '', sealed: true, media: [media] }
  }
  const core = { kind: 'opaque', role: ROLES[type] ?? 'assistant', text: raw(), sealed: true } as const
  if (type === 'compaction')
    return { ...core, standsForPrefix: true, ...sealedBy(stringOf(fields['encrypted_content'])) }
  if (!SERVER_RUNS.has(type)) return core
  return { ...core, serverSide: true, toolName: stringOf(fields['name']) ?? type.replace(/_call$/, '') }
}

function readCall(fields: Fields, type: string, raw: Raw): RoledCore {
  const { name, asks } = CALLS[type]!
  // Newer computer calls carry a list of actions.
  const key = type === 'computer_call' && fields[asks] === undefined ? 'actions' : asks
  return defined({
    kind: 'call' as const,
    role: 'assistant' as const,
    text: stringOf(fields[key]) ?? raw(key),
    callId: stringOf(fields['call_id']) ?? (type === 'mcp_approval_request' ? stringOf(fields['id']) : undefined),
    toolName: name ?? stringOf(fields['name']),
    serverSide: isServerSide(fields, type) ? true : undefined,
    sealed: SEALED_CALLS.has(type) ? true : undefined,
  })
}

function readResult(fields: Fields, type: string, raw: Raw): RoledCore {
  const { name, says, sealed } = RESULTS[type]!
  const ids: Readonly<Record<string, unknown>> = {
    mcp_approval_response: fields['approval_request_id'],
    local_shell_call_output: fields['call_id'] ?? fields['id'],
  }
  const serverSide = isServerSide(fields, type)
  return defined({
    kind: 'result' as const,
    role: serverSide ? ('assistant' as const) : ('tool' as const),
    ...readOutput(fields[says], () => raw(says)),
    callId: stringOf(ids[type] ?? fields['call_id']),
    toolName: name ?? stringOf(fields['name']),
    isError: fields['status'] === 'failed' ? true : undefined,
    serverSide: serverSide ? true : undefined,
    sealed,
  })
}

function isServerSide(fields: Fields, type: string): boolean {
  if (type === 'program' || type === 'program_output') return true
  return (type === 'tool_search_call' || type === 'tool_search_output') && fields['execution'] !== 'client'
}

/** A result's text: a string, parts, the streams of a shell, or whatever JSON the tool has. */
function readOutput(output: unknown, raw: () => string): Pick<Item, 'text'> & { media: readonly Media[] | undefined } {
  const parts = (arrayOf(output) ?? [output]).map((part) => recordOf(part) ?? {})
  const media = parts.map(readMedia).filter((part) => part !== undefined)
  const texts = parts.flatMap((part) => {
    const streams = ['text', 'stdout', 'stderr'].map((key) => stringOf(part[key]) ?? '')
    return streams.filter((text) => text !== '')
  })
  const isEmpty = output === undefined || output === null || (Array.isArray(output) && output.length === 0)
  const text = stringOf(output) ?? (isEmpty || texts.length + media.length > 0 ? texts.join('\n') : compactJson(raw()))
  return { text, media: media.length > 0 ? media : undefined }
}

function reasoningText(fields: Fields): string {
  const parts = [...(arrayOf(fields['summary']) ?? []), ...(arrayOf(fields['content']) ?? [])]
  return parts.map((part) => stringOf(recordOf(part)?.['text']) ?? '').join('\n')
}

/** Reads one part of a message's content; `raw` gives its JSON text. */
export function readPart(part: Fields, role: Role, raw: () => string): RoledCore {
  const text = stringOf(part['text']) ?? stringOf(part['refusal'])
  if (text !== undefined) return { kind: kindOf(role), role, text }
  const media = readMedia(part)
  if (media !== undefined) return { kind: 'media', role, text: '', media: [media] }
  return { kind: 'opaque', role, text: raw(), sealed: true }
}

export function kindOf(role: Role): 'instruction' | 'assistant' | 'user' {
  return role === 'system' ? 'instruction' : role === 'assistant' ? 'assistant' : 'user'
}

function readMedia(part: Fields): Media | undefined {
  switch (part['type']) {
    case 'input_image':
    case 'computer_screenshot':
      return defined({
        type: 'image' as const,
        reference: stringOf(part['file_id']),
        ...readUrl(stringOf(part['image_url'])),
      })
    case 'input_audio': {
      const audio = recordOf(part['input_audio']) ?? {}
      const format = stringOf(audio['format'])
      return defined({
        type: 'audio' as const,
        mime: format === undefined ? undefined : `audio/${format}`,
        data: stringOf(audio['data']),
      })
    }
    case 'input_file': {
      const payload = readUrl(stringOf(part['file_data']))
      return defined({
        type: mediaTypeOf(payload.mime),
        mime: payload.mime,
        // Without the `data:` head, file_data is the bare payload.
        data: payload.data ?? payload.reference,
        reference: stringOf(part['file_id']) ?? stringOf(part['file_url']),
        name: stringOf(part['filename']),
      })
    }
    default:
      return undefined
  }
}
