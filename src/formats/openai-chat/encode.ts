import type { EnvelopeChanges, NewTool } from '../../core/conversation.ts'
import type { Item, Media } from '../../core/item.ts'
import { type Fields, recordOf, stringOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { type Splice, spliceArray, spliceMember, spliceMembers } from '../json/splice.ts'
import {
  type Decoder,
  encoder,
  type Envelope,
  instructionInMessages,
  isReplaced,
  type Members,
  type Source,
  toolSplices,
  type ToolWords,
  withInstruction,
  type Written,
} from '../kit/body.ts'
import { type CacheMark, haveOnly, joinContents, markJson, objectJson, sealedError } from '../kit/editing.ts'
import { arrayOf, dataUrl } from '../kit/reading.ts'
import { type Draft, type DraftTurn, filled, isWebUrl, openaiChoice } from '../kit/writing.ts'
import { body, type ItemPosition, MARK_KEYS, toolNameOf } from './decode.ts'

export const encode = encoder<ItemPosition>({
  body,
  write,
  envelope,
  inserted,
  within: (...given) => within({ body, noContent: 'null' }, ...given),
  // Only parts can have a mark, and opaque ones must not change.
  mayCarry: (item, place) => (place?.shape ?? 'part') === 'part' && item.sealed !== true,
  merging: { merge },
})

function envelope(changes: EnvelopeChanges, source: Source): Envelope {
  const { root } = source
  const members: Members = new Map()
  if (changes.maxOutputTokens !== undefined) {
    for (const key of limitKeys(root)) members.set(key, String(changes.maxOutputTokens))
  }
  // A body has either tools or, in the legacy form, functions.
  const isLegacy = member(root, 'functions') !== undefined && member(root, 'tools') === undefined
  const splices = toolSplices(source, changes, members, isLegacy ? FUNCTIONS : TOOLS)
  const instructed = instructionInMessages(source, changes.addInstruction)
  return { ...instructed, splices: [...splices, ...instructed.splices, ...spliceMembers(root, members)] }
}

const TOOLS: ToolWords = {
  key: 'tools',
  nameOf: toolNameOf,
  declare,
  choiceKey: 'tool_choice',
  none: '"none"',
  auto: '"auto"',
  choiceNames,
}

const FUNCTIONS: ToolWords = {
  ...TOOLS,
  key: 'functions',
  declare: (tool) => declare(tool).function,
  choiceKey: 'function_call',
}

function limitKeys(root: JsonNode): string[] {
  const present = ['max_completion_tokens', 'max_tokens'].filter((key) => (member(root, key)?.value ?? null) !== null)
  if (present.length > 0) return present
  return [capKey(stringOf(member(root, 'model')?.value) ?? '')]
}

/** The tools that a choice names: the forced one, or the list of allowed ones. */
function choiceNames(choice: unknown): string[] {
  const fields = recordOf(choice)
  if (fields === undefined) return []
  const allowed = arrayOf(recordOf(fields['allowed_tools'])?.['tools'])
  const entries = allowed ?? [fields]
  return entries.flatMap((entry) => {
    const tool = recordOf(entry) ?? {}
    const body = recordOf(tool['function']) ?? recordOf(tool['custom']) ?? tool
    return stringOf(body['name']) ?? []
  })
}

function merge(role: string, messages: readonly JsonNode[]): string | undefined {
  const isModel = role === 'assistant'
  if (!isModel && role !== 'user') return undefined
  // Calls come after all content of their message.
  const last = messages.at(-1)!
  const calls = isModel ? member(last, 'tool_calls')?.raw : undefined
  const isPlain = haveOnly(messages.slice(0, -1), ['role', 'content'])
  if (!isPlain || !haveOnly([last], ['role', 'content', ...(isModel ? ['tool_calls'] : [])])) return undefined
  const content = joinContents(messages.map((message) => member(message, 'content')?.raw))
  return `{"role":"${role}","content":${content}${calls === undefined ? '' : `,"tool_calls":${calls}`}}`
}

/** A message that we insert. */
export function inserted(item: Item, mark: CacheMark | undefined): string {
  const text = JSON.stringify(item.text)
  const content = mark === undefined ? text : `[{"type":"text","text":${text}${markJson(mark)}}]`
  return `{"role":"${item.role === 'assistant' ? 'assistant' : 'user'}","content":${content}}`
}

/** The differences in editing between wires with similar messages. */
interface ChatEdits {
  readonly body: Decoder<ItemPosition>
  /** The content of a message with calls only. */
  readonly noContent: 'null' | '""'
  /** Arguments are an object, not a text. */
  readonly hasObjects?: true
}

export function within(
  edits: ChatEdits,
  source: Source,
  node: JsonNode,
  kept: readonly Item[],
  marks: ReadonlyMap<string, CacheMark>,
): Splice[] {
  const read = source.itemsOf[kept[0]!.message]!
  if (kept.length === read.length && marks.size === 0 && !kept.some((item) => item.edited === true)) return []
  const { positionOf, nodeAt } = edits.body
  const changes: Members = new Map()
  // A picture in a separate list cannot become text in place.
  const isMoved = (item: Item): boolean => item.edited === true && positionOf(item)!.shape === 'image'
  const left = kept.filter((item) => !isMoved(item))
  const splices = left.length < read.length ? dropSplices(edits, source.text, node, read, left, changes) : []
  for (const item of kept) {
    const mark = marks.get(item.id)
    if (item.edited === true) splices.push(...editSplices(edits, source, node, item, changes, mark))
    if (mark !== undefined && !isReplaced(item))
      splices.push(spliceMember(nodeAt(source.root, positionOf(item)!), mark.key, mark.json))
  }
  return [...splices, ...spliceMembers(node, changes)]
}

/** Removes dropped elements and leaves a message that the wire accepts. */
function dropSplices(
  { body: { positionOf }, noContent }: ChatEdits,
  text: string,
  node: JsonNode,
  read: readonly Item[],
  kept: readonly Item[],
  changes: Members,
): Splice[] {
  const stays = new Set(kept.map((item) => item.id))
  const splices: Splice[] = []
  for (const item of read) {
    const place = positionOf(item)!
    if (place.shape === 'fields' && !stays.has(item.id)) for (const key of place.keys) changes.set(key, undefined)
  }
  const keepElements = (shape: ItemPosition['shape'], key: string): void => {
    const list = member(node, key)
    const own = list?.length ?? 0
    const left = kept.map((item) => positionOf(item)!).filter((place) => place.shape === shape)
    if (left.length === own) return
    if (left.length === 0) changes.set(key, undefined)
    else
      splices.push(
        ...spliceArray(
          text,
          list!,
          left.map(({ index }) => index),
        ),
      )
  }
  keepElements('part', 'content')
  keepElements('image', 'images')
  keepElements('call', 'tool_calls')
  const isField = (item: Item, key: string): boolean => {
    const place = positionOf(item)!
    return place.shape === 'fields' && place.keys.includes(key)
  }
  const speaks = kept.some((item) => item.kind === 'call' || isField(item, 'refusal') || isField(item, 'audio'))
  // An assistant message needs content unless it has calls, and some servers require the key even then.
  if (changes.has('content')) changes.set('content', speaks ? noContent : '""')
  else if (!speaks && (member(node, 'content')?.value ?? null) === null) changes.set('content', '""')
  return splices
}

/** An edit replaces only its own field; marks, ids and unknown keys stay unchanged. */
function editSplices(
  { body: { positionOf, nodeAt }, hasObjects }: ChatEdits,
  { root }: Source,
  message: JsonNode,
  item: Item,
  changes: Members,
  mark: CacheMark | undefined,
): Splice[] {
  const place = positionOf(item)!
  const node = nodeAt(root, place)
  const json = JSON.stringify(item.text)
  if (item.sealed === true && item.kind !== 'opaque') throw sealedError(item)
  if (place.shape === 'message') {
    if (item.kind === 'opaque') throw sealedError(item)
    changes.set('content', json)
    return []
  }
  if (place.shape === 'image') {
    // The text is appended to that of the message.
    const said = changes.get('content') ?? member(message, 'content')?.raw ?? '""'
    changes.set('content', withInstruction(JSON.parse(said), item.text))
    return []
  }
  if (item.kind === 'call') return [callSplice(place.shape === 'call' ? callBody(node) : node, item.text, hasObjects)]
  if (place.shape === 'fields') {
    for (const key of place.keys) changes.set(key, json)
    return []
  }
  if (isReplaced(item)) {
    const marks = MARK_KEYS.flatMap((key) => {
      const own = member(node, key)
      return own === undefined ? [] : [markJson({ key, json: own.raw })]
    })
    const part = `{"type":"text","text":${json}${marks.join('')}${markJson(mark)}}`
    return [{ start: node.start, end: node.end, text: part }]
  }
  return [spliceMember(node, member(node, 'type')?.value === 'refusal' ? 'refusal' : 'text', json)]
}

const callBody = (call: JsonNode): JsonNode => member(call, 'function') ?? member(call, 'custom') ?? call

/** Arguments are sent as a string; vendors that use an object get an object. */
function callSplice(body: JsonNode, text: string, hasObjects = false): Splice {
  if (member(body, 'input') !== undefined) return spliceMember(body, 'input', JSON.stringify(text))
  const isObject = hasObjects || member(body, 'arguments')?.type === 'object'
  return spliceMember(body, 'arguments', isObject ? objectJson(text) : JSON.stringify(objectJson(text)))
}

export interface DeclaredTool {
  type: 'function'
  function: { name: string; description: string; parameters: Record<string, unknown> }
}

export function declare({ name, description, parameters }: NewTool): DeclaredTool {
  return {
    type: 'function',
    function: { name, description, parameters: { ...parameters } },
  }
}

/** Reasoning models refuse `max_tokens`; many compatible servers only know that. */
export const capKey = (model: string): string =>
  /^(?:openai\/)?(?:o\d|gpt-[5-9])/.test(model) ? 'max_completion_tokens' : 'max_tokens'

export function write(draft: Draft): Written {
  const { settings, sampling } = draft
  const body = {
    model: settings.model,
    messages: [
      ...draft.head.map((content) => ({ role: 'system', content })),
      ...draft.turns.flatMap((turn) => messagesOf(draft, turn)),
    ],
    tools: filled(draft.tools.map(declare)),
    ...openaiChoice(draft, (name) => ({ type: 'function', function: { name } })),
    [capKey(settings.model ?? '')]: settings.maxOutputTokens,
    // Streamed answers only contain usage with this option.
    ...(settings.stream && { stream: true, stream_options: { include_usage: true } }),
    temperature: sampling.temperature,
    top_p: sampling.topP,
    stop: sampling.stop,
  }
  return { text: JSON.stringify(body), losses: draft.losses }
}

function messagesOf(draft: Draft, { role, items }: DraftTurn): Fields[] {
  if (role === 'tool') return items.map((item) => resultMessage(draft, item))
  const parts = items
    .filter((item) => item.kind !== 'call')
    .flatMap((item) => [
      ...(item.text === '' ? [] : [{ type: 'text', text: item.text }]),
      ...(item.media ?? []).flatMap((part) => mediaPart(draft, item, part)),
    ])
  const calls = items
    .filter((item) => item.kind === 'call')
    .map((item) => ({
      id: item.callId,
      type: 'function',
      function: { name: item.toolName ?? 'tool', arguments: objectJson(item.text) },
    }))
  if (parts.length + calls.length === 0) return []
  const [only] = parts
  const content = parts.length === 0 ? null : parts.length === 1 && only?.type === 'text' ? only['text'] : parts
  return [{ role, content, tool_calls: filled(calls) }]
}

export function resultMessage(draft: Draft, item: Item): Fields {
  for (const { type } of item.media ?? []) draft.lose(item, `${type} inside a tool result`)
  if (item.isError === true) draft.lose(item, 'the mark that a tool failed', 'minor')
  return { role: 'tool', tool_call_id: item.callId, content: item.text }
}

interface Part extends Fields {
  readonly type: string
}

function mediaPart(draft: Draft, item: Item, media: Media): Part[] {
  const { type, mime, data, reference, name } = media
  const isAnswer = item.role === 'assistant'
  if (!isAnswer && type === 'image' && data !== undefined)
    return [{ type: 'image_url', image_url: { url: dataUrl(mime ?? 'image/png', data) } }]
  if (!isAnswer && type === 'image' && isWebUrl(reference))
    return [{ type: 'image_url', image_url: { url: reference } }]
  if (!isAnswer && type === 'audio' && data !== undefined) {
    const format = mime === 'audio/mp3' || mime === 'audio/mpeg' ? 'mp3' : 'wav'
    return [{ type: 'input_audio', input_audio: { data, format } }]
  }
  if (!isAnswer && (type === 'document' || type === 'file') && data !== undefined) {
    const file = { filename: name ?? 'document.pdf', file_data: dataUrl(mime ?? 'application/pdf', data) }
    return [{ type: 'file', file }]
  }
  return draft.omit(item, media).map((text) => ({ type: 'text', text }))
}
