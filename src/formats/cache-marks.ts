import type { Item } from '../core/item.ts'
import { member, rawText, type JsonNode } from './json-index.ts'
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
  /** Every block of the history that could carry a mark, in order. */
  readonly blocks: () => Iterable<JsonNode>
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
  const carriers = messages.flatMap((message) => (message.own === undefined ? [message.inserted] : message.kept))
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
  // Most bodies have no mark, and looking for one in every block would find every span.
  const keys = wire.keys.filter((key) => wire.text.includes(`"${key}"`))
  if (keys.length === 0) return []
  const kept = new Set(carriers.map((item) => wire.nodeOf(item)?.start))
  const out: (CacheMark & { at: number })[] = []
  for (const block of wire.blocks()) {
    if (kept.has(block.start)) continue
    for (const key of keys) {
      const mark = member(block, key)
      if (mark !== undefined && mark.value !== null) out.push({ at: block.start, key, json: rawText(wire.text, mark) })
    }
  }
  return out
}

export const markJson = (mark: CacheMark | undefined): string =>
  mark === undefined ? '' : `,${JSON.stringify(mark.key)}:${mark.json}`
