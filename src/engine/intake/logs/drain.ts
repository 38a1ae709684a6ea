import { absorb, mergeColumns, mergeRare, SEPARATOR, type Shape, type Variants } from './drain-merge.ts'
import { shapeReader, type MessageShape, type ShapeOf } from './shape-of.ts'

/**
 * Mines templates from log messages: messages that differ only in their parameters share a group.
 *
 * Drain (He et al. 2017) merges greedily while reading, so one early similarity fixes a group for good and "VM started"
 * and "VM stopped" end in one template. Here reading is exact (masked tokens are the key, one map look-up per message) and
 * generalising is a second step over the distinct shapes: a column becomes a parameter when many different words stand in
 * it. Memory is bounded by `maxGroups`: when that is reached the shapes are consolidated and reading goes on.
 */

export interface DrainOptions {
  /** Different words in one column from which on it is a parameter. @default 5 */
  readonly columnVariety?: number
  /** Share of equal tokens that joins rare shapes. @default 0.6 */
  readonly similarity?: number
  /** Distinct shapes held at a time. @default 4000 */
  readonly maxGroups?: number
  /** Tokens of a message that are looked at. @default 60 */
  readonly maxTokens?: number
}

export interface LogGroup {
  readonly id: number
  /** Constant tokens, with `<*>` for what varies. */
  readonly template: string
  readonly count: number
  /** Ordinal numbers (as given to `add`) of the first and last member. */
  readonly first: number
  readonly last: number
  /** First member, as it was. */
  readonly example: string
  /** The words of the widest open column with their counts, when they are few: which verb, which event. */
  readonly variants?: Variants
}

export interface Drain {
  add(message: string, ordinal: number): void
  /** Groups, most frequent first. */
  groups(): LogGroup[]
  /** The group that a message which was added belongs to; undefined for a shape never seen. Call after `groups`. */
  groupOf(message: string): number | undefined
  /** Messages that found no room among `maxGroups` shapes. */
  unmatched(): number
}

/** A drain for messages whose shapes may be known before. */
export interface SharedDrain extends Drain {
  add(message: string, ordinal: number, shape?: MessageShape): void
  /** As `add`, by the key of a shape; false when no message of that shape was added, and nothing was counted. */
  addKnown(key: string, ordinal: number): boolean
}

export function createDrain(options: DrainOptions = {}): Drain {
  return createSharedDrain(shapeReader(options.maxTokens), options)
}

/** Several drains of the same messages share one reader of shapes. */
export function createSharedDrain(shapeOf: ShapeOf, options: DrainOptions = {}): SharedDrain {
  const { columnVariety = 5, similarity = 0.6, maxGroups = 4_000 } = options
  let shapes = new Map<string, Shape>()
  /** Key of a shape that was merged → key of the shape that took it. */
  const merged = new Map<string, string>()
  let nextId = 0
  let unmatched = 0
  let full = false

  function consolidate(): void {
    const list = mergeRare(mergeColumns([...shapes.values()], columnVariety), similarity)
    const next = new Map<string, Shape>()
    for (const { shape, members } of list) {
      const key = shape.tokens.join(SEPARATOR)
      const holder = next.get(key)
      if (holder === undefined) next.set(key, shape)
      else absorb(holder, shape)
      for (const member of members) if (member !== key) merged.set(member, key)
    }
    shapes = next
    // Look-up hints are bounded too; without a hint a message simply becomes a shape again and merges at the next turn.
    if (merged.size > maxGroups * 10) merged.clear()
  }

  function find(key: string): Shape | undefined {
    let at: string | undefined = key
    for (let hops = 0; at !== undefined && hops < 8; hops++) {
      const shape = shapes.get(at)
      if (shape !== undefined) return shape
      at = merged.get(at)
    }
    return undefined
  }

  function addKnown(key: string, ordinal: number): boolean {
    const known = find(key)
    if (known === undefined) return false
    known.count++
    known.last = ordinal
    // Counted by word only while shapes are merged: a late member would make the counts wrong.
    if (known.variants !== undefined) known.variants = undefined
    return true
  }

  return {
    addKnown,
    add(message, ordinal, { key, tokens } = shapeOf(message)) {
      if (addKnown(key, ordinal)) return
      if (shapes.size >= maxGroups) {
        if (!full) consolidate()
        // A log of prose never settles: after one fruitless pass the rest is only counted.
        if (shapes.size > maxGroups * 0.9) {
          full = true
          unmatched++
          return
        }
      }
      const example = message.length > 400 ? `${message.slice(0, 400)}…` : message
      shapes.set(key, { id: nextId++, tokens: [...tokens], count: 1, first: ordinal, last: ordinal, example })
    },
    groups() {
      consolidate()
      return [...shapes.values()]
        .sort((a, b) => b.count - a.count || a.id - b.id)
        .map(({ id, tokens, count, first, last, example, variants }) => ({
          id,
          template: tokens.join('').trim(),
          count,
          first,
          last,
          example,
          ...(variants !== undefined && { variants }),
        }))
    },
    groupOf: (message) => find(shapeOf(message).key)?.id,
    unmatched: () => unmatched,
  }
}
