import type { Edit, Plan } from './edits.ts'
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
  /** Contains a call without a result. */
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
 * Pairs by occurrence, not by id alone: some providers restart at `call_0` in every turn, and an interrupted run can leave one id twice in one turn.
 * A result answers the oldest open call of its id. Without ids (Gemini, OpenAI's old functions), the tool's name is used.
 */
function pairCalls(items: readonly Item[]): Pick<Turns, 'answers' | 'pending' | 'orphans'> {
  const open = openCalls()
  const answers = new Map<number, number>()
  const pending = new Set<number>()
  const orphans: number[] = []
  for (const [index, item] of items.entries()) {
    if (item.kind === 'call') {
      open.add(index, item)
      pending.add(index)
    } else if (item.kind === 'result') {
      const call = open.take(item, (at) => pending.has(at))
      if (call === undefined) orphans.push(index)
      else {
        answers.set(call, index)
        pending.delete(call)
      }
    }
  }
  return { answers, pending: [...pending], orphans }
}

const queueKeys = ({ callId, toolName = '' }: Item): string[] =>
  callId === undefined ? [`name:${toolName}`, `nameless-id:${toolName}`] : [`id:${callId}`, `name:${toolName}`]

/** Queues of open calls, oldest first. A call is in several queues; one that another queue returned is skipped. */
function openCalls(): {
  add(index: number, call: Item): void
  take(result: Item, isOpen: (index: number) => boolean): number | undefined
} {
  const queues = new Map<string, { calls: number[]; next: number }>()
  return {
    add(index, call) {
      for (const key of queueKeys(call)) {
        const queue = queues.get(key)
        if (queue === undefined) queues.set(key, { calls: [index], next: 0 })
        else queue.calls.push(index)
      }
    },
    take({ callId, toolName = '' }, isOpen) {
      const keys = callId === undefined ? [`name:${toolName}`] : [`id:${callId}`, `nameless-id:${toolName}`]
      for (const key of keys) {
        const queue = queues.get(key)
        if (queue === undefined) continue
        while (queue.next < queue.calls.length) {
          const call = queue.calls[queue.next++]!
          if (isOpen(call)) return call
        }
      }
      return undefined
    },
  }
}

/** Marks boundaries (before item i) at which the history must not be cut. */
function gluedBoundaries(items: readonly Item[], answers: ReadonlyMap<number, number>): Uint8Array {
  const glued = new Uint8Array(items.length + 1)
  // Inside a message. Inserted items are messages of their own.
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
  // Before a result without a call: it must not be the first item after a cut.
  for (let i = 1; i < items.length; i++) if (items[i]!.kind === 'result') glued[i] = 1
  // Between reasoning and what it led to: the Responses wire refuses either without the other.
  let follows = false
  for (let i = 0; i < items.length; i++) {
    const item = items[i]!
    const isNewThought = item.kind === 'reasoning' && items[i - 1]?.kind !== 'reasoning'
    if (i > 0 && follows && item.role === 'assistant' && !isNewThought) glued[i] = 1
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
 * Where the open step begins: the model's last step, if it ends with results or unanswered calls. The model has not answered it yet, whatever follows
 * it, so it must not be folded.
 */
export function openStepStart(items: readonly Item[], turns: Turns): number {
  const last = turns.steps.findLast((step) => step.hasCalls || step.pending || isSpokenByModel(items, step))
  if (last === undefined) return items.length
  const end = items[last.to - 1]
  return last.hasCalls && end?.role !== 'assistant' ? last.from : last.pending ? last.from : items.length
}

function isSpokenByModel(items: readonly Item[], { from, to }: Step): boolean {
  for (let i = from; i < to; i++) if (items[i]!.role === 'assistant') return true
  return false
}

/** Index of the newest user text, or -1. Text beside tool results counts; inserted messages do not. */
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

/** Completes a plan that was made for another transcript: where it drops only a call or only its result, the other one is dropped too. */
export function withPairedDrops(plan: Plan, items: readonly Item[]): Plan {
  const dropped = new Map(plan.flatMap((edit) => (edit.op === 'drop' ? [[edit.id, edit.reason] as const] : [])))
  const added: Edit[] = []
  for (const [call, result] of turnsOf(items).answers) {
    const [callId, resultId] = [items[call]!.id, items[result]!.id]
    const reason = dropped.get(callId) ?? dropped.get(resultId)
    if (reason === undefined || (dropped.has(callId) && dropped.has(resultId))) continue
    added.push({ op: 'drop', id: dropped.has(callId) ? resultId : callId, reason })
  }
  if (added.length === 0) return plan
  const gone = new Set(added.map((edit) => edit.id))
  return [...plan.filter((edit) => edit.op !== 'replace' || !gone.has(edit.id)), ...added]
}
