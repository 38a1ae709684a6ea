import type { EnvelopeChanges, NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import { type Fields, listOf, recordOf, recordsIn, stringOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { type ArrayPart, type Splice, spliceMembers } from '../json/splice.ts'
import {
  elementSplices,
  encoder,
  type Envelope,
  type Members,
  type Source,
  spliceList,
  type Written,
} from '../kit/body.ts'
import { haveOnly, joinContents, objectJson, sealedError } from '../kit/editing.ts'
import { argumentsOf, type Draft, type DraftTurn, filled, isWebUrl } from '../kit/writing.ts'
import type { ToolChoice } from '../wire/steps.ts'
import {
  body,
  elementsOf,
  field,
  fieldEntry,
  type ItemPosition,
  newKey,
  nodeAt,
  positionOf,
  rootOf,
  serverTools,
  textKeyOf,
  valueAt,
} from './decode.ts'

export const encode = encoder<ItemPosition>({
  body,
  write,
  envelope,
  inserted: (item) =>
    `{"role":"${item.role === 'assistant' ? 'model' : 'user'}","parts":[{"text":${JSON.stringify(item.text)}}]}`,
  within: (source, content, kept) => elementSplices({ body, edit }, source, field(content, 'parts'), kept),
  merging: { merge, assistant: 'model' },
})

/** Members are named in the case that the body uses. */
function envelope(changes: EnvelopeChanges, source: Source): Envelope {
  const root = rootOf(source.root)
  const members: Members = new Map()
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined) {
    splices.push(...spliceInside(root, members, 'generationConfig', 'maxOutputTokens', String(changes.maxOutputTokens)))
  }
  if (changes.addInstruction !== undefined)
    splices.push(...systemSplices(source.text, root, members, changes.addInstruction))
  splices.push(...toolSplices(source.text, root, members, changes))
  if (changes.forbidTools !== undefined && declaresFunctions(root))
    splices.push(...spliceInside(root, members, 'toolConfig', 'functionCallingConfig', '{"mode":"NONE"}'))
  return { splices: [...splices, ...spliceMembers(root, members)] }
}

const declaresFunctions = (root: JsonNode): boolean =>
  elementsOf(field(root, 'tools')).some((tool) => elementsOf(field(tool, 'functionDeclarations')).length > 0)

/** Sets a member of an object in the root, which is created if absent. */
function spliceInside(root: JsonNode, members: Members, outer: string, inner: string, json: string): Splice[] {
  const object = field(root, outer)
  const key = fieldEntry(object, inner)?.key ?? newKey(root, inner)
  if (object?.type === 'object') return spliceMembers(object, new Map([[key, json]]))
  members.set(fieldEntry(root, outer)?.key ?? newKey(root, outer), `{${JSON.stringify(key)}:${json}}`)
  return []
}

function systemSplices(text: string, root: JsonNode, members: Members, instruction: string): Splice[] {
  const entry = fieldEntry(root, 'systemInstruction')
  const part = JSON.stringify({ text: instruction })
  const list = field(entry?.node, 'parts')
  const parts = elementsOf(list)
  if (list !== undefined && parts.length > 0) return spliceList(text, list, [...parts.keys(), part])
  const before = stringOf(entry?.node.value)
  const key = entry?.key ?? newKey(root, 'systemInstruction')
  members.set(key, before === undefined ? `{"parts":[${part}]}` : JSON.stringify(`${before}\n\n${instruction}`))
  return []
}

function toolSplices(text: string, root: JsonNode, members: Members, changes: EnvelopeChanges): Splice[] {
  if (changes.keepTools === undefined && changes.addTools === undefined) return []
  const list = field(root, 'tools')
  const tools = elementsOf(list)
  const isFinal = changes.keepTools?.length === 0 && (changes.addTools ?? []).length === 0
  // In a turn without calls, functions stay declared, so that the cached prefix is kept, and the mode forbids calls. Google's own tools are not
  // subject to the mode, so they are removed.
  const mayStay = (name: string, isFunction: boolean): boolean =>
    isFinal ? isFunction : (changes.keepTools?.includes(name) ?? true)
  const waiting = (changes.addTools ?? []).map((tool) => JSON.stringify(declareFunction(tool)))
  const kept: ArrayPart[] = []
  const names: string[] = []
  const splices: Splice[] = []
  for (const [i, tool] of tools.entries()) {
    const functions = fieldEntry(tool, 'functionDeclarations')
    const own = elementsOf(functions?.node)
    const nameAt = (at: number): string => stringOf(recordOf(own[at]?.value)?.['name']) ?? ''
    const stay = [...own.keys()].filter((at) => mayStay(nameAt(at), true))
    const out = serverTools(tool).filter((name) => !mayStay(name, false))
    const added = functions === undefined ? [] : waiting.splice(0)
    names.push(...stay.map(nameAt))
    if (stay.length + added.length + serverTools(tool).length === out.length) continue
    kept.push(i)
    const gone = new Map<string, string | undefined>(out.map((name) => [name, undefined]))
    if (functions !== undefined && stay.length + added.length === 0) gone.set(functions.key, undefined)
    else if (functions !== undefined && (stay.length < own.length || added.length > 0))
      splices.push(...spliceList(text, functions.node, [...stay, ...added]))
    splices.push(...spliceMembers(tool, gone))
  }
  if (waiting.length > 0) kept.push(`{${JSON.stringify(newKey(root, 'functionDeclarations'))}:[${waiting.join(',')}]}`)
  if (list === undefined || list.value === null) {
    if (kept.length > 0) members.set('tools', `[${kept.join(',')}]`)
  } else if (kept.length !== tools.length || kept.some((part, i) => part !== i)) {
    splices.push(...spliceList(text, list, kept))
  }
  return [...splices, ...modeSplices(root, members, names, isFinal)]
}

function modeSplices(root: JsonNode, members: Members, names: readonly string[], isFinal: boolean): Splice[] {
  const config = recordOf(valueAt(recordOf(field(root, 'toolConfig')?.value), 'functionCallingConfig'))
  const allowed = listOf(valueAt(config, 'allowedFunctionNames'))
  const isForced = config?.['mode'] === 'ANY' && names.length === 0
  // The mode is refused in a request without functions.
  const mode = isFinal
    ? names.length > 0
      ? 'NONE'
      : undefined
    : isForced || allowed.some((name) => !names.includes(String(name)))
      ? 'AUTO'
      : undefined
  if (mode === undefined) return []
  return spliceInside(root, members, 'toolConfig', 'functionCallingConfig', `{"mode":"${mode}"}`)
}

/** Only the client's contents are merged: the model's may be signed, and must not change. */
function merge(role: string, messages: readonly JsonNode[]): string | undefined {
  if (role !== 'user' || !haveOnly(messages, ['role', 'parts'])) return undefined
  const parts = joinContents(messages.map((message) => member(message, 'parts')?.raw))
  // The number of responses must equal the number of calls, so they stay in a content of their own.
  return /"function_?[rR]esponse"/.test(parts) ? undefined : `{"role":"user","parts":${parts}}`
}

/** An edit replaces only its own field; ids, names and unknown keys stay unchanged. */
function edit({ root }: Source, item: Item): Splice[] {
  const place = positionOf(item)!
  const node = nodeAt(root, place)
  const json = JSON.stringify(item.text)
  if (item.sealed === true && item.kind !== 'opaque') throw sealedError(item)
  if (place.shape === 'content') return spliceMembers(node, new Map([['parts', `[{"text":${json}}]`]]))
  if (item.kind === 'call') {
    return spliceMembers(field(node, 'functionCall')!, new Map([['args', objectJson(item.text)]]))
  }
  if (item.kind === 'result') return responseSplices(field(node, 'functionResponse')!, json)
  if (item.kind === 'media' || item.kind === 'opaque')
    return [{ start: node.start, end: node.end, text: `{"text":${json}}` }]
  const changes = new Map<string, string | undefined>([['text', json]])
  // The signature was for the previous text, so it is removed.
  const signature = fieldEntry(node, 'thoughtSignature')
  if (signature !== undefined) changes.set(signature.key, undefined)
  return spliceMembers(node, changes)
}

function responseSplices(response: JsonNode, json: string): Splice[] {
  const body = member(response, 'response')
  const changes = new Map<string, string | undefined>()
  const splices: Splice[] = []
  const key = textKeyOf(body?.value as Record<string, unknown> | undefined)
  const held = key === undefined ? undefined : member(body, key)
  if (held === undefined) changes.set('response', `{"output":${json}}`)
  else splices.push({ start: held.start, end: held.end, text: json })
  // The pictures in the result are removed with its text.
  if (member(response, 'parts') !== undefined) changes.set('parts', undefined)
  return [...splices, ...spliceMembers(response, changes)]
}

export interface FunctionDeclaration {
  name: string
  description: string
  parametersJsonSchema: Record<string, unknown>
}

/** An entry of the request's tools, which contains any number of functions. */
export interface DeclaredTool {
  functionDeclarations: FunctionDeclaration[]
}

const declareFunction = ({ name, description, parameters }: NewTool): FunctionDeclaration => ({
  name,
  description,
  parametersJsonSchema: { ...parameters },
})

export const declare = (tool: NewTool): DeclaredTool => ({ functionDeclarations: [declareFunction(tool)] })

/** Collects parts with thought signatures, which must be sent back at their original position. */
export function keeper(): { push(event: Fields): void; value(): unknown } {
  const parts: object[] = []
  return {
    push(event) {
      const content = recordOf(recordOf(listOf(event['candidates'])[0])?.['content'])
      parts.push(...recordsIn(content?.['parts']).filter((part) => part['thought'] !== true))
    },
    value: () => parts,
  }
}

/** Gemini 3 refuses a call without a signature; this is the documented value for calls of other models. */
export const FOREIGN_SIGNATURE = 'skip_thought_signature_validator'

export function write(draft: Draft): Written {
  const { settings, sampling, toolChoice: choice } = draft
  if (choice?.single === true) draft.lose(undefined, 'the wish for one call at a time')
  const config = {
    maxOutputTokens: settings.maxOutputTokens,
    temperature: sampling.temperature,
    topP: sampling.topP,
    stopSequences: sampling.stop,
  }
  const functionDeclarations = filled(draft.tools.map(declareFunction))
  const body = {
    systemInstruction: draft.head.length > 0 ? { parts: draft.head.map((text) => ({ text })) } : undefined,
    contents: draft.turns.flatMap((turn) => contentOf(draft, turn)),
    tools: functionDeclarations && [{ functionDeclarations }],
    toolConfig: functionDeclarations && choice && choiceOf(choice),
    generationConfig: Object.values(config).some((value) => value !== undefined) ? config : undefined,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

const choiceOf = ({ mode, name }: ToolChoice): Fields => ({
  functionCallingConfig: {
    mode: mode === 'required' ? 'ANY' : mode.toUpperCase(),
    allowedFunctionNames: name !== undefined ? [name] : undefined,
  },
})

/** Neighbours of one role form one content, so that as many responses follow as there were calls. */
function contentOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  let isFirstCall = true
  const parts = items.flatMap((item): Fields[] => {
    if (role === 'system')
      draft.lose(item, 'the rank of an instruction inside the history; it is a user message now', 'minor')
    // The original parts of an answer on this wire, kept by our own chat.
    if (item.kind === 'opaque') return JSON.parse(item.text) as Fields[]
    if (item.kind === 'call') {
      const functionCall = { id: item.callId, name: item.toolName ?? 'tool', args: argumentsOf(item) }
      const signature = isFirstCall ? { thoughtSignature: FOREIGN_SIGNATURE } : {}
      isFirstCall = false
      return [{ functionCall, ...signature }]
    }
    const media = (item.media ?? []).flatMap((part) => mediaPart(draft, item, part))
    if (item.kind !== 'result') return [...(item.text === '' ? [] : [{ text: item.text }]), ...media]
    const functionResponse = {
      id: item.callId,
      name: item.toolName ?? 'tool',
      response: { [item.isError === true ? 'error' : 'output']: item.text },
      parts: filled(media),
    }
    return [{ functionResponse }]
  })
  return parts.length === 0 ? [] : [{ role: role === 'assistant' ? 'model' : 'user', parts }]
}

function mediaPart(draft: Draft, item: Item, media: Media): Fields[] {
  const { mime, data, reference, name } = media
  const displayName = name === undefined ? {} : { displayName: name }
  if (data !== undefined && mime !== undefined) return [{ inlineData: { mimeType: mime, data, ...displayName } }]
  const isReachable = isWebUrl(reference) || reference?.startsWith('gs://') === true
  if (data === undefined && isReachable) return [{ fileData: { mimeType: mime, fileUri: reference, ...displayName } }]
  return draft.omit(item, media).map((text) => ({ text }))
}
