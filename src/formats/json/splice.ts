import type { Splice } from '../../core/codec.ts'
import { applySplices } from '../../core/splices.ts'
import type { JsonMember, JsonNode } from './json-index.ts'

export type { Splice } from '../../core/codec.ts'

/** Applies splices that do not overlap, in any order. */
export const spliceText = (text: string, splices: readonly Splice[]): string => applySplices(text, inOrder(splices))

export const inOrder = (splices: readonly Splice[]): readonly Splice[] =>
  splices.length < 2 ? splices : [...splices].sort((a, b) => a.start - b.start || a.end - b.end)

/** What an array shall hold: an element of its own by index, or new JSON text. */
export type ArrayPart = number | string

/**
 * Splices that turn an array's elements into `parts` (own elements stay in order). White space between kept neighbours is
 * left alone, so that dropping one element removes that element and one separator and nothing else.
 */
export function spliceArray(text: string, array: JsonNode, parts: readonly ArrayPart[]): Splice[] {
  const [first, second, last] = [array.at(0), array.at(1), array.at(array.length - 1)]
  const separator = first !== undefined && second !== undefined ? text.slice(first.end, second.start) : ','
  if (first === undefined || last === undefined)
    return [{ start: array.start + 1, end: array.end - 1, text: parts.join(separator) }]
  if (!parts.some((part) => typeof part === 'number'))
    return [{ start: first.start, end: last.end, text: parts.join(separator) }]
  const splices: Splice[] = []
  // Gaps run from the end of one kept element to the start of the next; each is rewritten only if something changed in it.
  let lastKept = -1
  let fresh: string[] = []
  const closeGap = (next: number | undefined): void => {
    const untouched = fresh.length === 0 && (next === undefined ? lastKept === array.length - 1 : next === lastKept + 1)
    if (!untouched) {
      const start = lastKept < 0 ? first.start : array.at(lastKept)!.end
      const end = next === undefined ? last.end : array.at(next)!.start
      const lead = lastKept < 0 ? '' : separator
      const tail = next === undefined || fresh.length === 0 ? '' : separator
      const bridge = fresh.length === 0 && (lastKept < 0 || next === undefined) ? '' : lead
      splices.push({ start, end, text: bridge + fresh.join(separator) + tail })
    }
    fresh = []
  }
  for (const part of parts) {
    if (typeof part === 'string') {
      fresh.push(part)
      continue
    }
    closeGap(part)
    lastKept = part
  }
  closeGap(undefined)
  return splices
}

/** Adds or replaces a member of an object: `json` is the value's text. */
export const spliceMember = (object: JsonNode, key: string, json: string): Splice =>
  spliceMembers(object, new Map([[key, json]]))[0]!

/**
 * Changes several members of one object at once: a text sets or adds the member, undefined removes it. One call per object,
 * because removals of neighbours share a separator.
 */
export function spliceMembers(object: JsonNode, changes: ReadonlyMap<string, string | undefined>): Splice[] {
  if (changes.size === 0) return []
  const members = object.members ?? []
  const isOut = (key: string): boolean => changes.has(key) && changes.get(key) === undefined
  const splices: Splice[] = []
  const written = new Set<string>()
  let lastKept: JsonMember | undefined
  let firstOut: JsonMember | undefined
  const closeGap = (next: JsonMember | undefined): void => {
    if (firstOut === undefined) return
    const start = lastKept?.node.end ?? firstOut.start
    const end = lastKept === undefined && next !== undefined ? next.start : lastOut!.node.end
    splices.push({ start, end, text: '' })
    firstOut = undefined
  }
  let lastOut: JsonMember | undefined
  for (const [i, entry] of members.entries()) {
    if (isOut(entry.key)) {
      firstOut ??= entry
      lastOut = entry
      continue
    }
    closeGap(entry)
    lastKept = entry
    const text = changes.get(entry.key)
    // The last member wins where a key is repeated, so that one is written.
    if (text !== undefined && !members.some((later, j) => j > i && later.key === entry.key)) {
      splices.push({ start: entry.node.start, end: entry.node.end, text })
      written.add(entry.key)
    }
  }
  closeGap(undefined)
  const added = [...changes].flatMap(([key, text]) =>
    text === undefined || written.has(key) ? [] : [`${JSON.stringify(key)}:${text}`],
  )
  if (added.length > 0) {
    const at = lastKept?.node.end ?? members[0]?.start ?? object.start + 1
    splices.push({ start: at, end: at, text: (lastKept === undefined ? '' : ',') + added.join(',') })
  }
  return splices
}
