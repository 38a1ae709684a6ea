import { yieldNow } from '../../util/yield-now.ts'
import type { Query } from '../../util/search/query.ts'
import type { Candidate, Entry, Ranked } from '../../util/search/rank.ts'

export interface RecalledItem {
  readonly identity: string
  readonly kind: string
  readonly toolName?: string
  readonly callId?: string
  /** When it was archived; absent where it was found in the request at hand. */
  readonly at?: number
  /** The passages of its text that were found. */
  readonly excerpt: string
  /** Characters of the whole text. */
  readonly characters: number
  /** Its number in the conversation. A reader takes it in the place of a handle, and opens the whole text. */
  readonly handle?: string
}

export interface Recalled {
  readonly items: readonly RecalledItem[]
  /** The same for a model to read, within the bound. */
  readonly text: string
}

/** An item of a request, or of the archive, as `recall` searches and shows it. */
export interface Found extends Candidate {
  readonly identity: string
  readonly kind: string
  readonly callId: string | undefined
  /** Among the items of its request. */
  readonly index: number
  readonly entry: Entry
  /** How it is named in an answer, and opened with: its number in the conversation, the newest of what was said again. */
  name: string
}

interface Bound {
  /** Entries. */
  readonly most: number
  /** Characters. */
  readonly room: number
  /** Entries that stand beside each other are one: what is said around something belongs to it. */
  readonly areStretchesOne: boolean
  /** It is added after a message, without a call of the model. @default false */
  readonly isBlock?: boolean
}

/** Less of a passage says too little. */
const LEAST_PART = 80

/** The best passages by entry, each entry in the place of its best one, within the bound. */
export function render(
  found: readonly Found[],
  best: readonly Ranked[],
  { most, room, areStretchesOne, isBlock = false }: Bound,
): Recalled {
  const footer = isBlock ? '' : footerOf(found)
  const chosen = new Map<number, number[]>()
  let left = room - footer.length
  let hits = 0
  for (const { entry, passage } of best) {
    const { from, to } = found[entry]!.indexed.spans[passage]!
    const others = chosen.get(entry)
    const isBeside = areStretchesOne && [entry - 2, entry - 1, entry + 1, entry + 2].some((near) => chosen.has(near))
    const isNew = others === undefined && !isBeside
    if (isNew && hits >= most) continue
    const place = others === undefined ? placeOf(found, entry, [passage]).length + 1 : 3
    const cost = place + to - from
    // The best one is shown in part rather than not at all.
    if (cost > left && chosen.size > 0) continue
    left -= cost
    if (isNew) hits++
    if (others === undefined) chosen.set(entry, [passage])
    else others.push(passage)
    if (left < LEAST_PART) break
  }
  const items: RecalledItem[] = []
  const parts: string[] = []
  for (const [entry, passages] of chosen) {
    const one = found[entry]!
    const { text, tool, at } = one.entry
    const place = placeOf(found, entry, passages)
    const excerpt = excerptOf(one, passages).slice(0, Math.max(1, room - footer.length - place.length - 1))
    const { identity, kind, callId, name: handle } = one
    items.push({ identity, kind, toolName: tool, callId, at, excerpt, characters: text.length, handle })
    parts.push(`${place}${excerpt}`)
  }
  return { items, text: `${parts.join('\n')}${footer}` }
}

function footerOf(found: readonly Found[]): string {
  const { name } = found.at(-1)!
  return `\n(${name.startsWith('#') ? `Newest: ${name}. ` : ''}Read on: {"handle":"${name}","start":1})`
}

/** Passages in the order of the text; what stands between them is left out. */
function excerptOf({ entry: { text }, indexed: { spans } }: Found, passages: readonly number[]): string {
  let excerpt = ''
  let last: number | undefined
  for (const passage of passages.toSorted((a, b) => a - b)) {
    const { from, to } = spans[passage]!
    const between = last === undefined ? '' : last === passage - 1 ? text.slice(spans[last]!.to, from) : '\n…\n'
    excerpt += (between.length > 3 ? '\n' : between) + text.slice(from, to)
    last = passage
  }
  return excerpt
}

/** A later result of the same tool for the same file or command takes the place of one. */
const replacedBy = ({ kind, entry: { tool, about } }: Found): string | undefined =>
  kind === 'result' && about !== undefined && about !== '' ? `${tool} ${about}` : undefined

/** Where an entry stands, before its text. */
function placeOf(found: readonly Found[], entry: number, passages: readonly number[]): string {
  const one = found[entry]!
  const { kind, name } = one
  const { role, tool, about = '', at, text } = one.entry
  const when = at === undefined ? '' : `, ${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}`
  // What people wrote needs no word for it: an answer is made of evidence.
  if (tool === undefined) return `${name}${role === 'user' ? '' : ` ${role}`}${when}: `
  const what = `${kind === 'call' ? 'call of ' : ''}${tool}${about === '' ? '' : ` ${about}`}`
  const spans = passages.map((passage) => one.indexed.spans[passage]!)
  const lines =
    kind === 'call'
      ? ''
      : `, lines ${lineAt(text, Math.min(...spans.map(({ from }) => from)))}-${lineAt(text, Math.max(...spans.map(({ to }) => to)))}`
  const key = replacedBy(one)
  const later = key === undefined ? entry : found.findLastIndex((other) => replacedBy(other) === key)
  const again = later === entry ? '' : `, again in ${found[later]!.name}`
  return `${name} ${what}${lines}${when}${again}:\n`
}

function lineAt(text: string, at: number): number {
  let line = 1
  for (let from = text.indexOf('\n'); from >= 0 && from < at; from = text.indexOf('\n', from + 1)) line++
  return line
}

const MOST_NEAREST = 5
const SIMILAR = 0.5
const WORD = /[\p{L}\p{N}_]{3,40}/gu

/** What was searched in vain, and the words nearest to those that were asked. */
export async function nearestWords(found: readonly Found[], { words, exact }: Query, text: string): Promise<string> {
  const asked = text.toLowerCase().match(WORD) ?? []
  const best = new Map<string, number>()
  const seen = new Set<string>()
  const pause = yieldNow()
  for (const { entry } of found) {
    for (const word of entry.text.toLowerCase().match(WORD) ?? []) {
      if (seen.has(word)) continue
      seen.add(word)
      const alike = Math.max(0, ...asked.map((one) => likeness(one, word)))
      if (alike >= SIMILAR) best.set(word, alike)
    }
    await pause()
  }
  const nearest = [...best].sort((a, b) => b[1] - a[1]).slice(0, MOST_NEAREST)
  const near = nearest.length === 0 ? '' : ` Words that do occur: ${nearest.map(([word]) => word).join(', ')}.`
  const looked = `${found.length.toLocaleString('en')} ${found.length === 1 ? 'entry was' : 'entries were'} searched`
  const what = words.length === 0 && exact.length === 0 ? 'it holds no word to look for' : looked
  return `Nothing in this conversation mentions ${JSON.stringify(text.slice(0, 100))}; ${what}.${near}`
}

/** The share of pairs of letters that two words have in common. */
function likeness(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 3) return 0
  const pairs = new Set<string>()
  for (let i = 1; i < one.length; i++) pairs.add(one.slice(i - 1, i + 1))
  let shared = 0
  for (let i = 1; i < other.length; i++) if (pairs.has(other.slice(i - 1, i + 1))) shared++
  return (2 * shared) / (one.length + other.length - 2)
}
