import type { Item } from '../../core/item.ts'
import { markJson, type CacheMark } from '../kit/cache-marks.ts'
import { member, rawText, type JsonNode } from '../json/json-index.ts'
import { jsonTextOf } from '../json/json-text.ts'
import { recordOf } from '../../core/values.ts'
import { objectJson, sealedError } from '../kit/sealed.ts'
import { spliceMember, type Splice } from '../json/splice.ts'
import { nodeAt, placeOf, typeOf, type Source } from './source.ts'

/** An edit replaces only its own field; marks, ids and unknown keys beside it stay as they came. */
export function editSplice({ text, root }: Source, item: Item, mark?: CacheMark): Splice {
  const place = placeOf(item)!
  const { shape } = place
  const node = nodeAt(root, place)
  const json = jsonTextOf(item)
  if (item.sealed === true && item.kind !== 'opaque') throw sealedError(item)
  if (shape === 'input' || shape === 'content') return { start: node.start, end: node.end, text: json }
  if (shape === 'part') return partSplice(text, item, node, json, mark)
  if (item.kind === 'call') return callSplice(node, item)
  if (item.kind === 'result') return resultSplice(text, node, json)
  if (item.kind === 'opaque') {
    // What was opaque goes; a plain message takes its place.
    const role = item.role === 'system' ? 'developer' : item.role === 'user' ? 'user' : 'assistant'
    return { start: node.start, end: node.end, text: `{"role":"${role}","content":${json}}` }
  }
  return spliceMember(node, 'content', json)
}

/** A picture or an opaque part has no text to replace: a text part takes its place. */
export const needsNewPart = (item: Item): boolean => item.kind === 'media' || item.kind === 'opaque'

function partSplice(text: string, item: Item, node: JsonNode, json: string, mark: CacheMark | undefined): Splice {
  if (!needsNewPart(item)) {
    return spliceMember(node, member(node, 'refusal') === undefined ? 'text' : 'refusal', json)
  }
  const key = 'prompt_cache_breakpoint'
  const own = member(node, key)
  const kept = markJson(own === undefined ? mark : { key, json: rawText(text, own) })
  const part =
    item.role === 'assistant'
      ? `{"type":"output_text","text":${json},"annotations":[]}`
      : `{"type":"input_text","text":${json}${kept}}`
  return { start: node.start, end: node.end, text: part }
}

/** Calls whose request is an object: where it stands, and the member of it that plain text goes into. */
const STRUCTURED: Readonly<Record<string, { readonly key: string; readonly inner: string; readonly isList: boolean }>> =
  {
    local_shell_call: { key: 'action', inner: 'command', isList: true },
    shell_call: { key: 'action', inner: 'commands', isList: true },
    apply_patch_call: { key: 'operation', inner: 'diff', isList: false },
  }

function callSplice(node: JsonNode, item: Item): Splice {
  const type = typeOf(node.value as Record<string, unknown>)
  if (type === 'function_call') return spliceMember(node, 'arguments', JSON.stringify(objectJson(item.text)))
  if (type === 'custom_tool_call') return spliceMember(node, 'input', jsonTextOf(item))
  if (type === 'tool_search_call') return spliceMember(node, 'arguments', objectJson(item.text))
  const structured = STRUCTURED[type]
  const whole = structured === undefined ? undefined : member(node, structured.key)
  if (structured === undefined || whole === undefined) throw sealedError(item)
  if (isObjectJson(item.text)) return spliceMember(node, structured.key, item.text)
  return spliceMember(whole, structured.inner, JSON.stringify(structured.isList ? [item.text] : item.text))
}

function isObjectJson(text: string): boolean {
  try {
    return recordOf(JSON.parse(text)) !== undefined
  } catch {
    return false
  }
}

function resultSplice(text: string, node: JsonNode, json: string): Splice {
  if (typeOf(node.value as Record<string, unknown>) !== 'shell_call_output') return spliceMember(node, 'output', json)
  // A shell's output is a list of runs; how the first one ended stays true.
  const outcome = member(member(node, 'output')?.items?.[0], 'outcome')
  const ended = outcome === undefined ? '{"type":"exit","exit_code":0}' : rawText(text, outcome)
  return spliceMember(node, 'output', `[{"stdout":${json},"stderr":"","outcome":${ended}}]`)
}
