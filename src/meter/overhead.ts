import type { Item } from '../core/item.ts'
import { CHAT_OVERHEAD, type Overhead } from '../core/wire-traits.ts'

const GEMINI: Overhead = {
  perRequest: 0,
  perMessage: 1,
  perCall: 4,
  perResult: 4,
  perAnswer: 1,
  framingSlack: 3,
  toolsOnce: 0,
  perTool: 0,
  toolsFactor: 0.93,
  toolsSpread: 0.3,
  headIsMessage: true,
  callsInMessages: true,
}

const CLAUDE: Overhead = {
  perRequest: 7,
  perMessage: 3,
  perCall: 46,
  perResult: 14,
  perAnswer: 0,
  framingSlack: 6,
  toolsOnce: 450,
  perTool: 8,
  toolsFactor: 1.1,
  toolsSpread: 0.3,
  headIsMessage: false,
  callsInMessages: true,
}

/** Claude 3.x and 4.0 hide a shorter prompt behind their tools than 4.5 and later. */
const CLAUDE_OLDER: Overhead = { ...CLAUDE, toolsOnce: 300, toolsFactor: 1.05 }

/** What a wire adds; undefined for one that is not known. */
export type WireOverhead = (format: string) => Overhead | undefined

/** What the model's family adds where it has habits of its own, on whatever wire; else what the wire does. */
export function overheadOf(wire: Overhead | undefined, model: string, family: string): Overhead {
  if (family.startsWith('claude')) return /claude-3|(sonnet|opus)-4(-0|-2025|-1|$)/.test(model) ? CLAUDE_OLDER : CLAUDE
  if (family === 'gemini') return GEMINI
  const overhead = wire ?? CHAT_OVERHEAD
  // Reasoning models of OpenAI's take one token less.
  return /gpt-5|(^|\/)o[134]/.test(model) ? { ...overhead, perRequest: overhead.perRequest - 1 } : overhead
}

/** Framing of a whole request. */
export function framingOf(overhead: Overhead, head: readonly Item[], messages: number): number {
  const inHead = overhead.headIsMessage ? messagesIn(head) : 0
  return overhead.perRequest + overhead.perMessage * (inHead + messages)
}

/** Framing that items bring along as messages. */
export function itemFramingOf(overhead: Overhead, items: readonly Item[]): number {
  const framed = overhead.callsInMessages ? items : items.filter(({ kind }) => kind !== 'call' && kind !== 'result')
  return overhead.perMessage * messagesIn(framed)
}

/** Items of one message share its index; each item that we insert stands in a message of its own. */
function messagesIn(items: readonly Item[]): number {
  const messages = new Set<number>()
  let inserted = 0
  for (const { message } of items) {
    if (message < 0) inserted++
    else messages.add(message)
  }
  return messages.size + inserted
}
