import type { Item } from '../../core/item.ts'
import { member, rawText, type JsonNode } from '../json/json-index.ts'
import type { OutgoingMessage } from './outgoing.ts'

/** A client's cache breakpoint on a block: the member that holds it, and its JSON text. */
export interface CacheMark {
  readonly key: string
  readonly json: string
}

/** What moving marks needs to know about a wire. */
export interface MarkedWire {
  readonly text: string
  readonly keys: readonly string[]
  /** Where the keys stand in the text. */
  readonly places: readonly number[]
  /** The block of the history that this place of the text lies in. */
  blockAt(place: number): JsonNode | undefined
  /** Where an item of the client's stands; undefined for one that we insert. */
  nodeOf(item: Item): JsonNode | undefined
  /** Whether an item has room for a mark at all; that it has none yet is checked here. */
  mayCarry(item: Item): boolean
}

/**
 * Marks of dropped blocks move to the nearest block before them that stays and may carry one, so that the client's cache
 * breakpoints survive an epoch. Returns the mark by item id.
 */
export function moveCacheMarks(wire: MarkedWire, messages: readonly OutgoingMessage[]): ReadonlyMap<string, CacheMark> {
  const moved = new Map<string, CacheMark>()
  if (wire.places.length === 0) return moved
  // What is put back is written as it was.
  const carriers = messages.flatMap((message) =>
    message.own !== undefined ? message.kept : 'inserted' in message ? [message.inserted] : [],
  )
  const orphaned = droppedMarks(wire, carriers)
  if (orphaned.length === 0) return moved
  const places = carriers.map((item) => wire.nodeOf(item)?.start ?? -1)
  // An inserted item has no place of its own: it stands right behind its neighbour, in front of all that was dropped there.
  for (const [i, place] of places.entries()) if (place === -1) places[i] = (places[i - 1] ?? -1) + 1
  for (const { at, ...mark } of orphaned) {
    const isFree = (item: Item): boolean => {
      const node = wire.nodeOf(item)
      return !moved.has(item.id) && wire.mayCarry(item) && wire.keys.every((key) => member(node, key) === undefined)
    }
    const target = carriers.findLast((item, i) => places[i]! < at && isFree(item))
    if (target !== undefined) moved.set(target.id, mark)
  }
  return moved
}

function droppedMarks(wire: MarkedWire, carriers: readonly Item[]): (CacheMark & { readonly at: number })[] {
  const kept = new Set(carriers.map((item) => wire.nodeOf(item)?.start))
  const marked = new Map<number, JsonNode>()
  for (const place of wire.places) {
    const block = wire.blockAt(place)
    if (block !== undefined && !kept.has(block.start)) marked.set(block.start, block)
  }
  const out: (CacheMark & { at: number })[] = []
  for (const [at, block] of marked) {
    for (const key of wire.keys) {
      const mark = member(block, key)
      if (mark !== undefined && mark.value !== null) out.push({ at, key, json: rawText(wire.text, mark) })
    }
  }
  return out
}

/** Where the keys stand in a text, in order; looked for when somebody asks, and behind `from` only where a text grew. */
export function placesOf(text: string, keys: readonly string[], before?: MarkPlaces, from = 0): MarkPlaces {
  if (before === undefined || from === 0) return later(text, keys)
  // At once: whoever waits with it holds on to every text before.
  return at([...before().filter((place) => place < from), ...find(text, keys, from)])
}

/** By itself: a function that stands beside others holds on to whatever they use, and so would every text before. */
const at =
  (places: readonly number[]): MarkPlaces =>
  () =>
    places

function later(text: string, keys: readonly string[]): MarkPlaces {
  let places: readonly number[] | undefined
  return () => (places ??= find(text, keys, 0))
}

const find = (text: string, keys: readonly string[], from: number): number[] =>
  keys.flatMap((key) => allOf(text, `"${key}"`, from)).sort((a, b) => a - b)

export type MarkPlaces = () => readonly number[]

function allOf(text: string, part: string, from: number): number[] {
  const found: number[] = []
  for (let at = text.indexOf(part, from); at >= 0; at = text.indexOf(part, at + 1)) found.push(at)
  return found
}

/** The element of `content`, in the message that a place of the text lies in; messages of the head do not count. */
export function partAt(messages: JsonNode | undefined, place: number, headCount = 0): JsonNode | undefined {
  const message = messages?.indexAt(place)
  if (messages === undefined || message === undefined || message < headCount) return undefined
  const content = member(messages.at(message), 'content')
  const part = content?.type === 'array' ? content.indexAt(place) : undefined
  return part === undefined ? undefined : content!.at(part)
}

export const markJson = (mark: CacheMark | undefined): string =>
  mark === undefined ? '' : `,${JSON.stringify(mark.key)}:${mark.json}`
