import type { Conversation, EnvelopeChanges } from '../../core/conversation.ts'
import type { JsonNode } from '../json/json-index.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { arrayOf } from '../kit/reading.ts'
import { spliceMembers, type ArrayPart, type Splice } from '../json/splice.ts'
import { serverTools } from './decode.ts'
import { spliceList } from './lists.ts'
import { declareFunction } from './declare.ts'
import { elementsOf, field, fieldEntry, newKey, rootOf, valueAt, type Source } from './source.ts'

/** Changes to members of the root, by the key that the body uses or would use. */
type Members = Map<string, string | undefined>

export function envelopeSplices(conversation: Conversation, source: Source): Splice[] {
  const { changes } = conversation
  if (changes === undefined) return []
  const root = rootOf(source.body)
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
  return [...splices, ...spliceMembers(root, members)]
}

const declaresFunctions = (root: JsonNode): boolean =>
  elementsOf(field(root, 'tools')).some((tool) => elementsOf(field(tool, 'functionDeclarations')).length > 0)

/** Sets a member of an object in the root; the object is made where there is none. */
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
  // Without tools to call, functions stay declared so that the cached prefix holds, and the mode forbids their use; what
  // Google itself runs is not under that mode and has to go.
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
  const allowed = arrayOf(valueAt(config, 'allowedFunctionNames')) ?? []
  const isForced = config?.['mode'] === 'ANY' && names.length === 0
  // The mode is refused without functions to apply it to.
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
