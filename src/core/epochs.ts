import type { Link } from './chain.ts'
import type { Edit, Plan } from './edits.ts'
import type { Item } from './item.ts'
import type { Epoch, EpochEdit } from './records.ts'

/** The link index of each covered position of an epoch in a transcript. */
export type Anchors = readonly (number | undefined)[]

/** The number of chained items when the epoch was declared: they had been sent before. */
export const declaredCount = ({ declaredAt, count }: Epoch): number => declaredAt?.count ?? count

/** Whether an epoch was declared for exactly this history. */
export const isDeclaredOn = ({ declaredAt, cover }: Epoch, chain: string): boolean =>
  (declaredAt?.chain ?? cover) === chain

export type EpochPlan = Pick<Epoch, 'id' | 'count' | 'edits'>

/**
 * Translates an epoch's edits from positions in the covered chain to item ids. Items outside the chain (reasoning, volatile text) are dropped with
 * the chained item that follows them. Without anchors, covered position k is link k.
 */
export function planOfEpoch(epoch: EpochPlan, items: readonly Item[], links: readonly Link[], anchors?: Anchors): Plan {
  const indexOf = (k: number): number | undefined => {
    const anchor = anchors === undefined ? (k < epoch.count ? k : undefined) : anchors[k]
    return anchor === undefined ? undefined : links[anchor]?.index
  }
  const chained = new Set(links.map((link) => link.index))
  const transcript: Transcript = { items, indexOf, isUnchained: (index) => index < items.length && !chained.has(index) }
  return epoch.edits.flatMap((edit, n) => translate(edit, n, epoch, transcript))
}

/** The inverse of `planOfEpoch`: a plan in item ids as edits by position in this chain. Items outside the chain follow their neighbours. */
export function epochEditsOf(plan: Plan, items: readonly Item[], links: readonly Link[]): EpochEdit[] {
  const places = new Map(links.map((link, k) => [items[link.index]!.id, k]))
  const indexes = new Map(items.map((item, index) => [item.id, index]))
  const edits: EpochEdit[] = []
  const dropped: { place: number; reason: string }[] = []
  const stripped: { place: number; reason: string }[] = []
  const gone = new Set(plan.filter(({ op }) => op === 'drop').map(({ id }) => id))
  for (const edit of plan) {
    const place = places.get(edit.id)
    if (edit.op === 'drop' && place !== undefined) dropped.push({ place, reason: edit.reason })
    if (edit.op === 'drop' && place === undefined) {
      const next = firstFrom(links, indexes.get(edit.id)! + 1)
      const isReasoning = items[indexes.get(edit.id)!]!.kind === 'reasoning'
      // Reasoning in front of a dropped item is dropped with it.
      if (isReasoning && next < links.length && !gone.has(items[links[next]!.index]!.id))
        stripped.push({ place: next, reason: edit.reason })
    }
    if (edit.op === 'replace' && place !== undefined) {
      const { text, reason, handle } = edit
      edits.push({ op: 'replace', at: place, text, reason, handle })
    }
    if (edit.op === 'insert') {
      const from = edit.before === undefined ? items.length : indexes.get(edit.before)!
      edits.push({
        op: 'insert',
        at: firstFrom(links, from),
        role: edit.role,
        text: edit.text,
        reason: edit.reason,
      })
    }
  }
  return [...rangesOf(dropped), ...rangesOf(stripped, 'strip'), ...edits]
}

/** Position of the first link at or after an item index; `links.length` when there is none. */
function firstFrom(links: readonly Link[], index: number): number {
  let low = 0
  let high = links.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (links[middle]!.index < index) low = middle + 1
    else high = middle
  }
  return low
}

/** Joins neighbouring positions with the same reason into ranges. */
export function rangesOf(
  places: readonly { place: number; reason: string }[],
  op: 'drop' | 'strip' = 'drop',
): EpochEdit[] {
  const ranges: { op: 'drop' | 'strip'; from: number; to: number; reason: string }[] = []
  for (const { place, reason } of [...places].sort((a, b) => a.place - b.place)) {
    const last = ranges.at(-1)
    if (last !== undefined && last.to >= place && last.reason === reason) last.to = place + 1
    else ranges.push({ op, from: place, to: place + 1, reason })
  }
  return ranges
}

interface Transcript {
  readonly items: readonly Item[]
  readonly indexOf: (k: number) => number | undefined
  readonly isUnchained: (index: number) => boolean
}

function translate(edit: EpochEdit, n: number, epoch: EpochPlan, transcript: Transcript): Edit[] {
  const { items, indexOf } = transcript
  if (edit.op === 'replace') {
    const index = indexOf(edit.at)
    if (index === undefined) return []
    const { text, reason, handle } = edit
    return [{ op: 'replace', id: items[index]!.id, text, reason, handle }]
  }
  if (edit.op === 'insert') {
    const before = firstAnchored(edit.at, epoch.count, transcript)
    const { role, text, reason } = edit
    const at = before ?? afterLast(epoch.count, transcript)
    const next = at === undefined ? undefined : items[withLeaders(transcript, at)]
    return [{ op: 'insert', id: `${epoch.id}.${n}`, role, text, reason, before: next?.id }]
  }
  const gone = edit.op === 'strip' ? reasoningOf : dropRange
  return gone(edit.from, edit.to, transcript).map((index) => ({
    op: 'drop',
    id: items[index]!.id,
    reason: edit.reason,
  }))
}

/** Indexes of the reasoning that led to the items in a range of positions. */
function reasoningOf(from: number, to: number, transcript: Transcript): number[] {
  const { items, indexOf } = transcript
  const found: number[] = []
  for (let k = from; k < to; k++) {
    const index = indexOf(k)
    if (index === undefined) continue
    for (let i = withLeaders(transcript, index); i < index; i++) if (items[i]!.kind === 'reasoning') found.push(i)
  }
  return found
}

function dropRange(from: number, to: number, transcript: Transcript): number[] {
  const { items, indexOf, isUnchained } = transcript
  const dropped: number[] = []
  let previous: number | undefined
  for (let k = from; k < to; k++) {
    const index = indexOf(k)
    if (index === undefined) continue
    const start = previous === undefined ? withLeaders(transcript, index) : previous + 1
    for (let i = start; i < index; i++) if (isUnchained(i)) dropped.push(i)
    dropped.push(index)
    previous = index
  }
  // Otherwise unchained items would be left over as a message without content.
  if (previous !== undefined) {
    const { message } = items[previous]!
    for (let i = previous + 1; isUnchained(i) && items[i]!.message === message; i++) dropped.push(i)
  }
  return dropped
}

/**
 * The index of the first unchained item directly before `index` that belongs to it, or `index`: items of the same message, and the reasoning that led
 * to it, which is an item of its own on the Responses wire.
 */
function withLeaders({ items, isUnchained }: Transcript, index: number): number {
  const led = items[index]
  const belongs = (item: Item): boolean =>
    item.message === led?.message || (item.kind === 'reasoning' && led?.role === 'assistant')
  let start = index
  while (start > 0 && isUnchained(start - 1) && belongs(items[start - 1]!)) start--
  return start
}

function firstAnchored(from: number, count: number, { indexOf }: Transcript): number | undefined {
  for (let k = from; k < count; k++) {
    const index = indexOf(k)
    if (index !== undefined) return index
  }
  return undefined
}

/** The index after the last covered item and after the unchained items of its message, so that the message is not split. */
function afterLast(count: number, { items, indexOf, isUnchained }: Transcript): number | undefined {
  for (let k = count - 1; k >= 0; k--) {
    const index = indexOf(k)
    if (index === undefined) continue
    let next = index + 1
    while (isUnchained(next) && items[next]!.message === items[index]!.message) next++
    return next
  }
  return undefined
}

/** The messages that an epoch inserts, in order: its record. */
export const insertedTexts = ({ edits }: Pick<Epoch, 'edits'>): readonly string[] =>
  edits.flatMap((edit) => (edit.op === 'insert' ? [edit.text] : []))
