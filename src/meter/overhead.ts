import type { Item } from '../core/item.ts'

/**
 * Tokens that a provider adds around what a request shows. Fitted on recorded requests with the provider's own count
 * (`docs/meter.md` has the table); OpenAI's text-only formula is exact.
 */
export interface Overhead {
  readonly perRequest: number
  readonly perMessage: number
  /** Around a call and around a result, names and arguments not included. */
  readonly perCall: number
  readonly perResult: number
  /** Around a response that comes back in the next prompt, beyond the output that was reported for it. */
  readonly perAnswer: number
  /** How far the framing of a request was off. */
  readonly framingSlack: number
  /** Declared tools: a hidden prompt once, something per tool, and the declarations times a factor. */
  readonly toolsOnce: number
  readonly perTool: number
  readonly toolsFactor: number
  /** Relative spread of the tools' part. */
  readonly toolsSpread: number
  /** The system text is a message of its own on this wire. */
  readonly headIsMessage: boolean
  /** Calls and results stand in messages; else each is framed alone, as `perCall` and `perResult` say. */
  readonly callsInMessages: boolean
}

const OPENAI: Overhead = {
  perRequest: 3,
  perMessage: 4,
  perCall: 5,
  perResult: 2,
  perAnswer: 3,
  framingSlack: 2,
  toolsOnce: 12,
  perTool: 0,
  toolsFactor: 0.6,
  toolsSpread: 0.4,
  headIsMessage: true,
  callsInMessages: true,
}

const RESPONSES: Overhead = {
  ...OPENAI,
  perCall: 6,
  perResult: 9,
  toolsFactor: 0.64,
  callsInMessages: false,
  perAnswer: 2,
}

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

/** What the wire and the model add. An unknown wire is taken for OpenAI's chat, which most vendors imitate. */
export function overheadOf(format: string, model: string, family: string): Overhead {
  if (family.startsWith('claude')) return /claude-3|(sonnet|opus)-4(-0|-2025|-1|$)/.test(model) ? CLAUDE_OLDER : CLAUDE
  if (family === 'gemini') return GEMINI
  if (/gemini|google/.test(format)) return GEMINI
  const overhead = /responses/.test(format) ? RESPONSES : OPENAI
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
