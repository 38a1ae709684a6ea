import type { Item } from './item.ts'

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

/** Around messages in the chat format that most vendors imitate. */
export const CHAT_OVERHEAD: Overhead = {
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

/** What a wire is like, where the engine or the meter decides by it. The wire tells it; nobody asks for its name. */
export interface WireTraits {
  /** What a request has around its content, where the family of the model says nothing else. */
  readonly overhead: Overhead
  /** The window holds the answer as well as the prompt. */
  readonly windowHoldsAnswer: boolean
  /** Whether a thought may go while what it led to stays. */
  mayStrip(thought: Item, items: readonly Item[]): boolean
  /** Sent along with `dropStaleThinking`, which the vendor does not know without them. */
  readonly staleThinkingHeaders: Readonly<Record<string, string>>
  /** The provider keeps its answers, and a later request may name one instead of repeating what led to it. */
  readonly keepsAnswers: boolean
}
