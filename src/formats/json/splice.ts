import type { Span } from '../../core/json/lexer.ts'
import { type JsonNode, member } from './json-index.ts'

/** Replaces a range of a text. `start === end` inserts. */
export interface Splice extends Span {
  readonly text: string
}

/** Applies splices that do not overlap, in any order; the text between them stays unchanged. */
export function spliceText(text: string, splices: readonly Splice[]): string {
  let out = ''
  let from = 0
  for (const { start, end, text: own } of splices.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    out += text.slice(from, start) + own
    from = end
  }
  return out + text.slice(from)
}

/** A new element of an array: the index of an existing element, or JSON text. */
export type ArrayPart = number | string

/**
 * Splices that turn an array's elements into `parts` (existing elements keep their order). White space between kept neighbours is not changed, so
 * dropping an element removes only that element and one separator.
 */
export function spliceArray(text: string, array: JsonNode, parts: readonly ArrayPart[]): Splice[] {
  const [first, second] = array.elements
  const separator = first !== undefined && second !== undefined ? text.slice(first.end, second.start) : ','
  return spliceParts(array, array.elements, separator, parts)
}

function spliceParts(
  { start, end }: Span,
  own: readonly Span[],
  separator: string,
  parts: readonly ArrayPart[],
): Splice[] {
  if (!parts.some((part) => typeof part === 'number'))
    return [{ start: own[0]?.start ?? start + 1, end: own.at(-1)?.end ?? end - 1, text: parts.join(separator) }]
  const splices: Splice[] = []
  let kept = -1
  let fresh: string[] = []
  /** The text between the last kept element and the next is only rewritten if something changed there. */
  const closeGap = (next: number): void => {
    const isChanged = fresh.length > 0 || next > kept + 1
    if (isChanged && kept < 0) {
      const text = fresh.map((part) => part + separator).join('')
      splices.push({ start: own[0]!.start, end: own[next]!.start, text })
    } else if (isChanged) {
      const text = fresh.map((part) => separator + part).join('')
      splices.push({ start: own[kept]!.end, end: own[next - 1]!.end, text })
    }
    kept = next
    fresh = []
  }
  for (const part of parts) {
    if (typeof part === 'string') fresh.push(part)
    else closeGap(part)
  }
  closeGap(own.length)
  return splices
}

/** Adds or replaces a member of an object: `json` is the value's text. */
export const spliceMember = (object: JsonNode, key: string, json: string): Splice =>
  spliceMembers(object, new Map([[key, json]]))[0]!

/**
 * Changes several members of one object: a text sets or adds the member, undefined removes it. All changes of an object are made in one call,
 * because removed neighbours share a separator.
 */
export function spliceMembers(object: JsonNode, changes: ReadonlyMap<string, string | undefined>): Splice[] {
  if (changes.size === 0) return []
  const members = object.members ?? []
  const parts: ArrayPart[] = [...members.keys()].filter((i) => {
    const { key } = members[i]!
    return !changes.has(key) || changes.get(key) !== undefined
  })
  const replaced: Splice[] = []
  for (const [key, text] of changes) {
    if (text === undefined) continue
    // For a repeated key, the last member counts, so that one is written.
    const node = member(object, key)
    if (node === undefined) parts.push(`${JSON.stringify(key)}:${text}`)
    else replaced.push({ start: node.start, end: node.end, text })
  }
  const own = members.map(({ start, node }) => ({ start, end: node.end }))
  return [...spliceParts(object, own, ',', parts), ...replaced]
}
