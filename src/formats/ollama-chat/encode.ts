import type { EnvelopeChanges } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { type JsonNode, member } from '../json/json-index.ts'
import { type Splice, spliceArray, spliceMember, spliceMembers } from '../json/splice.ts'
import { encoder, type Envelope, instructionInMessages, type Members, type Source } from '../kit/body.ts'
import { objectJson, sealedError } from '../kit/editing.ts'
import { body, nodeAt, type ItemPosition, positionOf, toolNameOf } from './decode.ts'
import { declare, write } from './write.ts'

export const written = encoder<ItemPosition>({
  body,
  write,
  envelope,
  inserted: (item) =>
    `{"role":"${item.role === 'assistant' ? 'assistant' : 'user'}","content":${JSON.stringify(item.text)}}`,
  within,
})

function envelope(changes: EnvelopeChanges, source: Source): Envelope {
  const { root, text } = source
  const members: Members = new Map()
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined) splices.push(...capSplices(root, changes.maxOutputTokens, members))
  const tools = member(root, 'tools')
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(declare(tool)))
  // This wire cannot say that a tool may not be called: a turn without tools declares none.
  const isForbidden = changes.forbidTools === true
  const stay = own
    .map((_, i) => i)
    .filter((i) => !isForbidden && (changes.keepTools?.includes(toolNameOf(own[i]!.value)) ?? true))
  if (tools?.type !== 'array') {
    if (added.length > 0 && !isForbidden) members.set('tools', `[${added.join(',')}]`)
  } else if (stay.length + added.length === 0 || isForbidden) members.set('tools', undefined)
  else if (added.length > 0 || stay.length < own.length) splices.push(...spliceArray(text, tools, [...stay, ...added]))
  const instructed: Envelope =
    changes.addInstruction === undefined ? { splices: [] } : instructionInMessages(source, changes.addInstruction)
  return { ...instructed, splices: [...splices, ...instructed.splices, ...spliceMembers(root, members)] }
}

function capSplices(root: JsonNode, cap: number, members: Members): Splice[] {
  const options = member(root, 'options')
  if (options !== undefined && recordOf(options.value) !== undefined)
    return [spliceMember(options, 'num_predict', String(cap))]
  members.set('options', JSON.stringify({ num_predict: cap }))
  return []
}

/** An edit replaces only its own member; unknown keys beside it stay as they came. */
function within({ text, root, itemsOf }: Source, node: JsonNode, kept: readonly Item[]): Splice[] {
  const read = itemsOf[kept[0]!.message]!
  if (kept.length === read.length && !kept.some((item) => item.edited === true)) return []
  const changes: Members = new Map()
  const splices: Splice[] = []
  const stays = (item: Item): boolean => kept.some(({ id }) => id === item.id)
  for (const item of read) {
    const { part } = positionOf(item)!
    if (stays(item) || (part !== 'content' && part !== 'thinking')) continue
    // The server wants the member even where a message only calls.
    changes.set(part, part === 'content' ? '""' : undefined)
  }
  const said: string[] = []
  for (const item of kept) {
    if (item.edited !== true) continue
    if (item.sealed === true) throw sealedError(item)
    const place = positionOf(item)!
    if (item.kind === 'call') splices.push(callSplice(nodeAt(root, place), item.text))
    // A picture cannot become text where it stands: its words go behind those of the message.
    else if (place.part === 'images') said.push(item.text)
    else changes.set(place.part === 'message' ? 'content' : place.part, JSON.stringify(item.text))
  }
  if (said.length > 0) changes.set('content', JSON.stringify([...wordsOf(node, kept), ...said].join('\n\n')))
  splices.push(
    ...listSplices(text, node, kept, 'images', changes),
    ...listSplices(text, node, kept, 'tool_calls', changes),
  )
  return [...splices, ...spliceMembers(node, changes)]
}

/** The text that a message keeps, as it is or as it was edited. */
function wordsOf(node: JsonNode, kept: readonly Item[]): string[] {
  const own = kept.find((item) => positionOf(item)!.part === 'content')
  const text =
    own?.edited === true ? own.text : own === undefined ? '' : (stringOf(member(node, 'content')?.value) ?? '')
  return text === '' ? [] : [text]
}

function listSplices(
  text: string,
  node: JsonNode,
  kept: readonly Item[],
  key: Extract<ItemPosition['part'], 'images' | 'tool_calls'>,
  changes: Members,
): Splice[] {
  const list = member(node, key)
  if (list?.type !== 'array') return []
  const left = kept.flatMap((item) => {
    const { part, index } = positionOf(item)!
    return part === key && !(key === 'images' && item.edited === true) ? [index] : []
  })
  if (left.length === list.length) return []
  if (left.length > 0) return spliceArray(text, list, left)
  changes.set(key, undefined)
  return []
}

/** Arguments are an object on this wire. */
function callSplice(call: JsonNode, text: string): Splice {
  const body = member(call, 'function') ?? call
  return spliceMember(body, 'arguments', objectJson(text))
}
