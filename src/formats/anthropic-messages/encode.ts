import type { Conversation, EnvelopeChanges } from '../../core/conversation.ts'
import type { Item } from '../../core/item.ts'
import { markJson, moveCacheMarks, partAt, type CacheMark, type MarkedWire } from '../kit/cache-marks.ts'
import { writeForeign, type Written } from '../kit/cross.ts'
import { member, rawText, type JsonNode } from '../json/json-index.ts'
import { jsonTextOf } from '../json/json-text.ts'
import { groupByMessage } from '../kit/outgoing.ts'
import { writeRestored } from '../kit/restored.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { haveOnly, joinContents, mergeNeighbours, type RawMessage } from '../kit/same-role.ts'
import { objectJson, sealedError } from '../kit/sealed.ts'
import { inOrder, spliceArray, spliceMember, spliceSized, type ArrayPart, type Splice } from '../json/splice.ts'
import { decode } from './decode.ts'
import { nativeSplice } from './native.ts'
import { FORMAT, MARK_KEYS, nodeAt, placeOf, sourceOf, type Source } from './source.ts'
import { declare } from './declare.ts'
import { writeAnthropicMessages } from './write.ts'

export function encode(conversation: Conversation): Written {
  if (conversation.format !== FORMAT) return writeForeign(conversation, writeAnthropicMessages, { decode, encode })
  const source = sourceOf(conversation)
  const splices = [...historySplices(conversation, source), ...envelopeSplices(conversation, source)]
  return { losses: [], ...spliceSized(source, splices) }
}

export const envelope = (conversation: Conversation): readonly Splice[] =>
  inOrder(envelopeSplices(conversation, sourceOf(conversation)))

function historySplices(conversation: Conversation, source: Source): Splice[] {
  if (conversation.items === source.items) return []
  const { root } = source
  const list = member(root, 'messages')!
  const messages = groupByMessage(conversation.items, (item) => placeOf(item) !== undefined)
  const marks = moveCacheMarks(markedWire(source), messages)
  const written: ArrayPart[] = []
  const changes: Splice[] = []
  for (const message of messages) {
    if (message.own === undefined) {
      written.push(
        'restored' in message
          ? writeRestored(encode, message.restored)
          : insertedMessage(message.inserted, marks.get(message.inserted.id)),
      )
      continue
    }
    written.push(message.own)
    const content = member(list.at(message.own), 'content')!
    if (content.type === 'array' && message.kept.length < content.length) {
      changes.push(
        ...spliceArray(
          source.text,
          content,
          message.kept.map((item) => placeOf(item)!.block),
        ),
      )
    }
    for (const item of message.kept) {
      const mark = marks.get(item.id)
      const isReplaced = item.edited === true && needsNewBlock(item)
      if (item.edited === true) changes.push(editSplice(source, item, mark))
      if (mark !== undefined && !isReplaced)
        changes.push(spliceMember(nodeAt(root, placeOf(item)!), mark.key, mark.json))
    }
  }
  const { parts, splices: within } = mergeNeighbours(
    { messages, parts: written, splices: changes },
    { text: source.text, count: list.length, nodeOf: (own) => list.at(own)!, merge },
  )
  const splices = [...within]
  if (parts.length !== list.length || parts.some((part, i) => part !== i)) {
    splices.push(...spliceArray(source.text, list, parts))
  }
  return splices
}

/** What the model said is signed in places, and stays as it was written. */
function merge(role: string, messages: readonly RawMessage[]): string | undefined {
  if (role !== 'user' || !haveOnly(messages, ['role', 'content'])) return undefined
  return `{"role":"user","content":${joinContents(messages.map((message) => message.raw('content')))}}`
}

function markedWire({ text, root, marks }: Source): MarkedWire {
  return {
    text,
    keys: MARK_KEYS,
    places: marks(),
    blockAt: (place) => partAt(member(root, 'messages'), place),
    nodeOf(item) {
      const place = placeOf(item)
      return place === undefined ? undefined : nodeAt(root, place)
    },
    // Thinking cannot carry a mark, empty text is refused with one, a plain string has no room, and opaque blocks stay as
    // they came.
    mayCarry(item) {
      const isEmpty = item.text === '' && item.media === undefined
      return placeOf(item)?.bare !== true && item.sealed !== true && !isEmpty
    },
  }
}

function insertedMessage(item: Item, mark: CacheMark | undefined): string {
  const text = jsonTextOf(item)
  const role = item.role === 'assistant' ? 'assistant' : 'user'
  if (mark === undefined) return `{"role":"${role}","content":${text}}`
  return `{"role":"${role}","content":[{"type":"text","text":${text}${markJson(mark)}}]}`
}

const needsNewBlock = (item: Item): boolean => item.kind === 'media' || item.kind === 'opaque'

/** An edit replaces only its own field; marks, ids and unknown keys beside it stay as they came. */
function editSplice({ text, root }: Source, item: Item, mark: CacheMark | undefined): Splice {
  const place = placeOf(item)!
  const node = nodeAt(root, place)
  const json = jsonTextOf(item)
  if (place.bare) return { start: node.start, end: node.end, text: json }
  if (item.kind === 'reasoning' || (item.kind === 'result' && item.serverSide === true)) {
    throw sealedError(item)
  }
  if (item.kind === 'result') return spliceMember(node, 'content', json)
  if (item.kind === 'call') return spliceMember(node, 'input', objectJson(item.text))
  if (needsNewBlock(item)) {
    const own = member(node, 'cache_control')
    const kept = mark ?? (own === undefined ? undefined : { key: 'cache_control', json: rawText(text, own) })
    const block = `{"type":"text","text":${json}${markJson(kept)}}`
    return { start: node.start, end: node.end, text: block }
  }
  return spliceMember(node, 'text', json)
}

function envelopeSplices(conversation: Conversation, source: Source): Splice[] {
  const { changes } = conversation
  if (changes === undefined) return []
  const { root } = source
  const splices: Splice[] = []
  if (changes.maxOutputTokens !== undefined)
    splices.push(spliceMember(root, 'max_tokens', String(changes.maxOutputTokens)))
  if (changes.addInstruction !== undefined) splices.push(systemSplice(root, changes.addInstruction))
  splices.push(...toolSplices(source, changes))
  // Otherwise it changes nothing here: another `tool_choice` would throw the cached messages away.
  if (changes.forbidTools === 'strictly') splices.push(spliceMember(root, 'tool_choice', '{"type":"none"}'))
  if (changes.dropStaleThinking === true) splices.push(...bindingSplice(root))
  if (changes.native !== undefined) splices.push(...nativeSplice(root, changes.native))
  return splices
}

function systemSplice(root: JsonNode, instruction: string): Splice {
  const system = member(root, 'system')
  const block = JSON.stringify({ type: 'text', text: instruction })
  if (system?.type === 'array' && (system.items?.length ?? 0) > 0) {
    const end = system.items!.at(-1)!.end
    return { start: end, end, text: `,${block}` }
  }
  const before = stringOf(system?.value)
  return spliceMember(
    root,
    'system',
    JSON.stringify(before === undefined || before === '' ? instruction : `${before}\n\n${instruction}`),
  )
}

function toolSplices(source: Source, changes: EnvelopeChanges): Splice[] {
  const { root, text } = source
  const tools = member(root, 'tools')
  const own = tools?.items ?? []
  const added = (changes.addTools ?? []).map((tool) => JSON.stringify(declare(tool)))
  const nameAt = (i: number): unknown => recordOf(own[i]?.value)?.['name']
  const stay = own.map((_, i) => i).filter((i) => changes.keepTools?.includes(String(nameAt(i))) ?? true)
  // History with tool blocks needs its tools declared, so a turn without tools keeps the list and forbids the choice.
  if (changes.keepTools !== undefined && stay.length + added.length === 0) {
    return own.length === 0 ? [] : [spliceMember(root, 'tool_choice', '{"type":"none"}')]
  }
  const splices: Splice[] = []
  if (tools === undefined || tools.type !== 'array') {
    if (added.length > 0) splices.push(spliceMember(root, 'tools', `[${added.join(',')}]`))
  } else if (added.length > 0 || stay.length < own.length)
    splices.push(...spliceArray(text, tools, [...stay, ...added]))
  const chosen = recordOf(member(root, 'tool_choice')?.value)?.['name']
  if (chosen !== undefined && !stay.some((i) => nameAt(i) === chosen))
    splices.push(spliceMember(root, 'tool_choice', '{"type":"auto"}'))
  return splices
}

/** Needs the beta header of `STALE_THINKING_HEADERS`. Without thinking in the request there is nothing to bind. */
function bindingSplice(root: JsonNode): Splice[] {
  const thinking = member(root, 'thinking')
  if (thinking?.type !== 'object') return []
  return [spliceMember(thinking, 'block_binding', '{"prefix_mismatch_behavior":"drop_block"}')]
}
