import type { JsonMember, JsonNode } from './json-index.ts'

/** A replacement of one stretch of the original text. `start === end` inserts. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Applies non-overlapping splices; everything between them is copied as it stands. */
export function spliceText(text: string, splices: readonly Splice[]): string {
  if (splices.length === 0) return text
  const ordered = [...splices].sort((a, b) => a.start - b.start || a.end - b.end)
  const out: string[] = []
  let from = 0
  for (const splice of ordered) {
    out.push(text.slice(from, splice.start), splice.text)
    from = splice.end
  }
  out.push(text.slice(from))
  return out.join('')
}

/** What an array shall hold: an element of its own by index, or new JSON text. */
export type ArrayPart = number | string

/**
 * Splices that turn an array's elements into `parts` (own elements stay in order). White space between kept neighbours is
 * left alone, so that dropping one element removes that element and one separator and nothing else.
 */
export function spliceArray(text: string, array: JsonNode, parts: readonly ArrayPart[]): Splice[] {
  const elements = array.items ?? []
  const separator = elements.length > 1 ? text.slice(elements[0]!.end, elements[1]!.start) : ','
  const kept = new Set(parts.filter((part) => typeof part === 'number'))
  if (kept.size === 0) {
    const first = elements[0]
    const body = parts.join(separator)
    if (first === undefined) return [{ start: array.start + 1, end: array.end - 1, text: body }]
    return [{ start: first.start, end: elements.at(-1)!.end, text: body }]
  }
  const splices: Splice[] = []
  // Gaps run from the end of one kept element to the start of the next; each is rewritten only if something changed in it.
  let lastKept = -1
  let fresh: string[] = []
  const closeGap = (next: number | undefined): void => {
    const start = lastKept < 0 ? elements[0]!.start : elements[lastKept]!.end
    const end = next === undefined ? elements.at(-1)!.end : elements[next]!.start
    const untouched =
      fresh.length === 0 && (next === undefined ? lastKept === elements.length - 1 : next === lastKept + 1)
    if (!untouched) {
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
export function spliceMember(object: JsonNode, key: string, json: string): Splice {
  const found = object.members?.findLast((entry) => entry.key === key)
  if (found !== undefined) return { start: found.node.start, end: found.node.end, text: json }
  const last = object.members?.at(-1)
  const at = last?.node.end ?? object.start + 1
  return { start: at, end: at, text: `${last === undefined ? '' : ','}${JSON.stringify(key)}:${json}` }
}

/** Removes a member with its separator. */
export function spliceMemberOut(object: JsonNode, key: string): Splice | undefined {
  const members = object.members ?? []
  const at = members.findLastIndex((entry) => entry.key === key)
  const entry = members[at]
  if (entry === undefined) return undefined
  const previous = members[at - 1]
  const next = members[at + 1]
  if (previous !== undefined) return { start: previous.node.end, end: entry.node.end, text: '' }
  return { start: entry.start, end: next?.start ?? entry.node.end, text: '' }
}

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
