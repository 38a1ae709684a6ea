import type { Conversation, EnvelopeChanges, NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import { type Fields, recordOf, recordsIn, stringOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { type ArrayPart, type Splice, spliceArray, spliceMember, spliceMembers } from '../json/splice.ts'
import { encoder, type Envelope, type Members, type Source, sourceOf, type Written } from '../kit/body.ts'
import { haveOnly, joinContents, objectJson, sealedError } from '../kit/editing.ts'
import { argumentsOf, type Draft, type DraftTurn, filled, joinedTurns } from '../kit/writing.ts'
import { body, FORMAT, isCachePoint, type ItemPosition, nodeAt, positionOf, toolName } from './decode.ts'

export const encode = (conversation: Conversation): Written => {
  const moved = movedPoints(conversation)
  return encoder<ItemPosition>({
    body,
    write,
    envelope,
    inserted: ({ role, text, id }) =>
      `{"role":"${role === 'assistant' ? 'assistant' : 'user'}","content":[${[`{"text":${JSON.stringify(text)}}`, ...(moved.get(id) ?? [])].join(',')}]}`,
    within: (source, message, kept) => within(source, message, kept, moved.get(kept.at(-1)!.id) ?? []),
    // Two messages of one role are refused, the model's included.
    merging: {
      merge: (role, messages) =>
        haveOnly(messages, ['role', 'content'])
          ? `{"role":"${role}","content":${joinContents(messages.map((message) => member(message, 'content')?.raw))}}`
          : undefined,
    },
  })(conversation)
}

/**
 * Cache points of messages that go move behind the nearest one before them that stays, so that the client's cache breakpoints survive a
 * compaction. Gives the point by the last item in front of it.
 */
function movedPoints(conversation: Conversation): ReadonlyMap<string, readonly string[]> {
  const moved = new Map<string, readonly string[]>()
  if (conversation.format !== FORMAT) return moved
  const { root, text } = sourceOf(conversation)
  if (!text.includes('"cachePoint"')) return moved
  const { items } = conversation
  const kept = new Set(items.map((item) => positionOf(item)?.message))
  for (const [at, message] of (member(root, 'messages')?.items ?? []).entries()) {
    const point = kept.has(at) ? undefined : member(message, 'content')?.items?.find(({ value }) => isCachePoint(value))
    if (point === undefined) continue
    const next = items.findIndex((item) => (positionOf(item)?.message ?? -1) > at)
    const before = items[(next < 0 ? items.length : next) - 1]
    if (before !== undefined) moved.set(before.id, [point.raw])
  }
  return moved
}

/** Drops blocks and edits those that stay. A cache point stays as long as something of its message stands before it. */
function within(
  source: Source,
  message: JsonNode,
  kept: readonly Item[],
  points: readonly string[],
): readonly Splice[] {
  const content = member(message, 'content')!
  const places = kept.map((item) => positionOf(item)!)
  const splices = kept.flatMap((item) => (item.edited === true ? edit(source, item) : []))
  const isWhole = kept.length === source.itemsOf[places[0]!.message]!.length
  if (isWhole && points.length === 0) return splices
  const stay = new Set(places.map(({ index }) => index))
  const left: ArrayPart[] = []
  // Two points that meet say the same.
  let isFresh = false
  for (const [i, block] of content.items!.entries()) {
    const isPoint = !stay.has(i) && isCachePoint(block.value)
    if (stay.has(i) || (isPoint && isFresh)) left.push(i)
    isFresh = stay.has(i) || (isFresh && !isPoint)
  }
  return [...splices, ...spliceArray(source.text, content, isFresh ? [...left, ...points] : left)]
}

/** An edit replaces only its own field; ids, names and unknown keys beside it stay as they came. */
function edit({ root }: Source, item: Item): Splice[] {
  const node = nodeAt(root, positionOf(item)!)
  const text = JSON.stringify(item.text)
  if (item.kind === 'reasoning' || (item.kind === 'result' && item.serverSide === true)) throw sealedError(item)
  if (item.kind === 'result') return [spliceMember(member(node, 'toolResult')!, 'content', `[{"text":${text}}]`)]
  if (item.kind === 'call') return [spliceMember(member(node, 'toolUse')!, 'input', objectJson(item.text))]
  if (member(node, 'text') !== undefined) return [spliceMember(node, 'text', text)]
  return [{ start: node.start, end: node.end, text: `{"text":${text}}` }]
}

function envelope(changes: EnvelopeChanges, source: Source): Envelope {
  const { root } = source
  const members: Members = new Map()
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined) {
    const config = member(root, 'inferenceConfig')
    const cap = String(changes.maxOutputTokens)
    if (config?.type === 'object') splices.push(spliceMember(config, 'maxTokens', cap))
    else members.set('inferenceConfig', `{"maxTokens":${cap}}`)
  }
  if (changes.addInstruction !== undefined) {
    const system = member(root, 'system')
    const block = JSON.stringify({ text: changes.addInstruction })
    const last = system?.items?.at(-1)
    if (last === undefined) members.set('system', `[${block}]`)
    else splices.push({ start: last.end, end: last.end, text: `,${block}` })
  }
  splices.push(...toolSplices(source, changes, members))
  return { splices: [...splices, ...spliceMembers(root, members)] }
}

/** No choice forbids calls on this wire, and a history with calls needs its tools declared: then they stay. */
function toolSplices(source: Source, changes: EnvelopeChanges, members: Members): Splice[] {
  const { root, text, items } = source
  const config = member(root, 'toolConfig')
  const list = member(config, 'tools')
  const own = list?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(declare(tool)))
  const nameAt = (i: number): string => toolName(own[i]!.value)
  const mayStay = (i: number): boolean =>
    isCachePoint(own[i]!.value) || (changes.keepTools?.includes(nameAt(i)) ?? true)
  const stay = [...own.keys()].filter(mayStay)
  const isNone = stay.every((i) => isCachePoint(own[i]!.value)) && added.length === 0
  if (isNone || changes.forbidTools !== undefined) {
    const isUsed = items.some(({ kind }) => kind === 'call' || kind === 'result')
    if (config !== undefined && !isUsed) members.set('toolConfig', undefined)
    return []
  }
  if (list?.type !== 'array') {
    if (added.length > 0 && config?.type === 'object') return [spliceMember(config, 'tools', `[${added.join(',')}]`)]
    if (added.length > 0) members.set('toolConfig', `{"tools":[${added.join(',')}]}`)
    return []
  }
  const named = stringOf(recordOf(recordOf(member(config, 'toolChoice')?.value)?.['tool'])?.['name'])
  const isLost = named !== undefined && !stay.some((i) => nameAt(i) === named)
  const choice = isLost ? spliceMembers(config!, new Map([['toolChoice', '{"auto":{}}']])) : []
  const isSame = added.length === 0 && stay.length === own.length
  return [...choice, ...(isSame ? [] : spliceArray(text, list, [...stay, ...added]))]
}

/** A tool in the request's list. */
export interface DeclaredTool {
  toolSpec: { name: string; description: string; inputSchema: { json: { type: 'object'; [key: string]: unknown } } }
}

export const declare = ({ name, description, parameters }: NewTool): DeclaredTool => ({
  toolSpec: { name, description, inputSchema: { json: { ...parameters, type: 'object' } } },
})

/** Writes a conversation that did not come from this wire. */
export function write(draft: Draft): Written {
  const { settings, sampling, toolChoice: choice } = draft
  if (choice?.single === true) draft.lose(undefined, 'the wish for one call at a time')
  const messages = joinedTurns(draft, (turn) => turn.items.flatMap((item) => blocksOf(draft, turn, item)))
  // A history with calls needs its tools declared, also where the other wire declared none.
  const used = draft.turns.flatMap(({ items }) =>
    items.flatMap(({ kind, toolName: name }) => (kind === 'call' ? [name ?? 'tool'] : [])),
  )
  const undeclared = [...new Set(used)].map((name): NewTool => ({ name, description: name, parameters: {} }))
  const declared = choice?.mode === 'none' && used.length === 0 ? [] : draft.tools
  const tools = filled((declared.length > 0 ? declared : undeclared).map(declare))
  const inference = {
    maxTokens: settings.maxOutputTokens,
    temperature: sampling.temperature,
    topP: sampling.topP,
    stopSequences: sampling.stop,
  }
  const request = {
    messages,
    system: filled(draft.head.filter((text) => text.trim() !== '').map((text) => ({ text }))),
    inferenceConfig: Object.values(inference).some((value) => value !== undefined) ? inference : undefined,
    toolConfig: tools === undefined ? undefined : { tools, toolChoice: choiceOf(draft) },
  }
  return { text: JSON.stringify(request), losses: draft.losses }
}

function choiceOf({ toolChoice }: Draft): Fields | undefined {
  if (toolChoice === undefined || toolChoice.mode === 'none') return undefined
  if (toolChoice.name !== undefined) return { tool: { name: toolChoice.name } }
  return toolChoice.mode === 'required' ? { any: {} } : { auto: {} }
}

function blocksOf(draft: Draft, { role }: DraftTurn, item: Item): readonly Fields[] {
  if (role === 'system')
    draft.lose(item, 'the rank of an instruction inside the history; it is a user message now', 'minor')
  // What an answer of this wire was made of, kept for a chat of our own.
  if (item.kind === 'opaque') return recordsIn(JSON.parse(item.text))
  if (item.kind === 'call')
    return [{ toolUse: { toolUseId: item.callId, name: item.toolName ?? 'tool', input: argumentsOf(item) } }]
  const media = (item.media ?? []).flatMap((part) => mediaBlock(draft, item, part))
  // Blank text is refused.
  const words = item.text.trim() === '' ? [] : [{ text: item.text }]
  if (item.kind !== 'result') return [...words, ...media]
  const content = filled([...words, ...media]) ?? [{ text: '(no output)' }]
  return [{ toolResult: { toolUseId: item.callId, content, status: item.isError === true ? 'error' : 'success' } }]
}

const FORMATS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'application/pdf': 'pdf',
}

function mediaBlock(draft: Draft, item: Item, media: Media): Fields[] {
  const { mime = '', data } = media
  const format = FORMATS[mime]
  if (format === undefined || data === undefined || item.role === 'assistant')
    return draft.omit(item, media).map((text) => ({ text }))
  const source = { bytes: data }
  // A name may hold little more than letters, and the model reads it.
  return format === 'pdf' ? [{ document: { format, name: 'document', source } }] : [{ image: { format, source } }]
}
