import type { MarkOptions } from '../../core/codec.ts'
import { indexJson, member, rawText, type JsonNode } from '../json/json-index.ts'
import { recordOf, stringOf } from '../../core/values.ts'
import { spliceMember, spliceText, type Splice } from '../json/splice.ts'
import { messagesOf } from './source.ts'

const MARK = '{"type":"ephemeral"}'
/** Blocks that take a mark for certain; thinking is refused with one, and unknown kinds stay as they came. */
const MARKABLE = new Set(['text', 'image', 'document', 'tool_use', 'tool_result'])

/**
 * Sets cache marks in a body that has none: one behind the instructions (or tools), one behind the summary of an epoch, one on the
 * newest block, and one where the newest block of the request before stood, so that its entry is found however many blocks a step
 * has (the vendor looks back over twenty). Undefined when the client has marks of its own, or nothing can carry one.
 */
export function placeCacheMarks(text: string, options: MarkOptions = {}): string | undefined {
  const { summaryMessage, suffixMessages = 0 } = options
  if (text.includes('"cache_control"')) return undefined
  const root = indexJson(text)
  const all = messagesOf(root)
  const messages = all.slice(0, all.length - suffixMessages)
  const places = new Set<number>()
  const splices: Splice[] = []
  const add = (splice: Splice | undefined): void => {
    if (splice === undefined || places.has(splice.start)) return
    places.add(splice.start)
    splices.push(splice)
  }
  add(markHead(text, root))
  if (summaryMessage !== undefined) add(markMessage(text, messages[summaryMessage]))
  const last = lastMarkable(text, messages, messages.length - 1)
  if (last !== undefined) {
    const answer = messages.findLastIndex((message, i) => i <= last.index && roleOf(message) === 'assistant')
    if (answer > 0) add(lastMarkable(text, messages, answer - 1)?.splice)
    add(last.splice)
  }
  return splices.length === 0 ? undefined : spliceText(text, splices)
}

function markHead(text: string, root: JsonNode): Splice | undefined {
  const system = member(root, 'system')
  if (system?.type === 'string') return stringOf(system.value) === '' ? undefined : markString(text, system)
  return markLast(system) ?? markLast(member(root, 'tools'))
}

function markLast(list: JsonNode | undefined): Splice | undefined {
  const block = list?.items?.at(-1)
  return block?.type === 'object' && recordOf(block.value)?.['text'] !== ''
    ? spliceMember(block, 'cache_control', MARK)
    : undefined
}

/** The newest place at or before a message that takes a mark. */
function lastMarkable(
  text: string,
  messages: readonly JsonNode[],
  from: number,
): { readonly index: number; readonly splice: Splice } | undefined {
  for (let index = from; index >= 0; index--) {
    const splice = markMessage(text, messages[index])
    if (splice !== undefined) return { index, splice }
  }
  return undefined
}

function markMessage(text: string, message: JsonNode | undefined): Splice | undefined {
  const content = member(message, 'content')
  if (content?.type === 'string') return stringOf(content.value) === '' ? undefined : markString(text, content)
  const block = content?.items?.findLast(isMarkable)
  return block === undefined ? undefined : spliceMember(block, 'cache_control', MARK)
}

function isMarkable(block: JsonNode): boolean {
  const fields = recordOf(block.value)
  return MARKABLE.has(stringOf(fields?.['type']) ?? '') && fields?.['text'] !== ''
}

/** A plain string has no room for a mark; as a block it says the same. */
const markString = (text: string, node: JsonNode): Splice => ({
  start: node.start,
  end: node.end,
  text: `[{"type":"text","text":${rawText(text, node)},"cache_control":${MARK}}]`,
})

const roleOf = (message: JsonNode): unknown => recordOf(message.value)?.['role']
