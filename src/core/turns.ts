import type { Item } from './item.ts'

/**
 * The only place that knows which results answer which calls, what is pending, and where a history may be cut.
 * A step is an atom: kept whole or dropped whole, it leaves no call without its result and no result without its call.
 */
export interface Step {
  /** Half-open range of item indexes. */
  readonly from: number
  readonly to: number
  readonly hasCalls: boolean
  /** Holds a call that nobody has answered yet. */
  readonly pending: boolean
}

export interface Turns {
  readonly steps: readonly Step[]
  /** Result index for each call index. */
  readonly answers: ReadonlyMap<number, number>
  /** Indexes of calls without a result. */
  readonly pending: readonly number[]
  /** Indexes of results without a call. */
  readonly orphans: readonly number[]
}

export function turnsOf(items: readonly Item[]): Turns {
  const { answers, pending, orphans } = pairCalls(items)
  const glued = gluedBoundaries(items, answers)
  const waiting = new Set(pending)
  const steps: Step[] = []
  let from = 0
  for (let i = 1; i <= items.length; i++) {
    if (i < items.length && glued[i] === 1) continue
    let hasCalls = false
    let isPending = false
    for (let at = from; at < i; at++) {
      if (items[at]!.kind === 'call') hasCalls = true
      if (waiting.has(at)) isPending = true
    }
    steps.push({ from, to: i, hasCalls, pending: isPending })
    from = i
  }
  return { steps, answers, pending, orphans }
}

/**
 * Pairs by occurrence, not by id alone: some providers number calls `call_0` anew in every turn, and an interrupted run can
 * leave one id twice in a single turn. A result answers the oldest open call of its id.
 */
function pairCalls(items: readonly Item[]): Pick<Turns, 'answers' | 'pending' | 'orphans'> {
  const open = new Map<string, number[]>()
  const answers = new Map<number, number>()
  const orphans: number[] = []
  for (const [index, item] of items.entries()) {
    if (item.kind === 'call') {
      const id = item.callId ?? ''
      const queue = open.get(id)
      if (queue === undefined) open.set(id, [index])
      else queue.push(index)
    } else if (item.kind === 'result') {
      const queue = open.get(item.callId ?? '')
      const call = queue?.shift()
      if (call === undefined) orphans.push(index)
      else answers.set(call, index)
      if (queue?.length === 0) open.delete(item.callId ?? '')
    }
  }
  const pending = [...open.values()].flat().sort((a, b) => a - b)
  return { answers, pending, orphans }
}

/** Marks the boundaries (before item i) at which no cut is legal. */
function gluedBoundaries(items: readonly Item[], answers: ReadonlyMap<number, number>): Uint8Array {
  const glued = new Uint8Array(items.length + 1)
  // Inside a message. An item that we inserted is a message of its own.
  for (let i = 1; i < items.length; i++) {
    const message = items[i]!.message
    if (message >= 0 && message === items[i - 1]!.message) glued[i] = 1
  }
  // Between a call and its answer.
  let openUntil = -1
  for (let i = 0; i < items.length; i++) {
    if (i > 0 && i <= openUntil) glued[i] = 1
    const answer = answers.get(i)
    if (answer !== undefined) openUntil = Math.max(openUntil, answer)
  }
  // Before a stray result: it must not become the first thing after a cut.
  for (let i = 1; i < items.length; i++) if (items[i]!.kind === 'result') glued[i] = 1
  // Reasoning and what it led to: the Responses wire refuses either without the other.
  let follows = false
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!
    if (i > 0 && follows && item.role === 'assistant' && item.kind !== 'reasoning') glued[i] = 1
    if (item.kind === 'reasoning') follows = true
    else if (item.role !== 'assistant') follows = false
  }
  return glued
}

/** Legal cut positions: item indexes at which a step begins, the end included. */
export function cutsOf(turns: Turns): number[] {
  return [...turns.steps.map((step) => step.from), ...turns.steps.slice(-1).map((step) => step.to)]
}

/**
 * Where the open tool step begins: the last step, when it ends on results or pending calls. The model has not answered it
 * yet, so nothing in it may be folded away.
 */
export function openStepStart(items: readonly Item[], turns: Turns): number {
  const last = turns.steps.at(-1)
  if (last === undefined) return 0
  const end = items[last.to - 1]
  return last.hasCalls && end?.role !== 'assistant' ? last.from : last.pending ? last.from : items.length
}

/** Index of the newest thing that a person said, or -1. Text beside tool results counts; our own insertions do not. */
export function newestUserIndex(
  items: readonly Item[],
  isVolatile: (item: Item, index: number) => boolean = () => false,
): number {
  for (let i = items.length - 1; i >= 0; i--) {
    const item = items[i]!
    if (item.kind === 'user' && item.message >= 0 && !isVolatile(item, i)) return i
  }
  return -1
}
