import { type Count, countFrom } from '../core/count.ts'
import type { Item } from '../core/item.ts'
import type { PromptFraming } from '../core/wire-traits.ts'

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
  /** More where no instructions stand before them: the declarations are then a message of their own. */
  readonly toolsAlone: number
  readonly perTool: number
  readonly toolsFactor: number
  /** The models read declarations in the vendor's own form, where the wire knows it. */
  readonly toolsReadAs: boolean
  /** How far the tools' part was off: relative to the declarations, and in tokens, downwards and upwards. */
  readonly toolsSpread: number
  readonly toolsSlack: readonly [below: number, above: number]
  /** A forced call brings instructions of its own. */
  readonly forcedTool: number
  /** The same for the schema of the answer. */
  readonly schemaOnce: number
  readonly schemaFactor: number
  readonly schemaSpread: number
  readonly schemaSlack: number
  /** Thinking that is switched on brings instructions of its own. */
  readonly thinkingOn: number
  /** Tokens that a character of a signature hides. */
  readonly perSealedCharacter: number
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
  toolsOnce: 13,
  toolsAlone: 3,
  // Two declarations share the blank line between them.
  perTool: -1,
  toolsFactor: 1,
  toolsReadAs: true,
  toolsSpread: 0.08,
  toolsSlack: [12, 14],
  forcedTool: 0,
  schemaOnce: 4,
  schemaFactor: 1,
  schemaSpread: 0.06,
  schemaSlack: 8,
  thinkingOn: 0,
  perSealedCharacter: 0,
  headIsMessage: true,
  callsInMessages: true,
}

/** GPT-5 and later have more around their tools, on this wire. */
const OPENAI_REASONING: Overhead = {
  ...OPENAI,
  perRequest: 2,
  perCall: 7,
  toolsOnce: 98,
  toolsAlone: 0,
  toolsSlack: [20, 30],
}

const RESPONSES: Overhead = {
  ...OPENAI,
  perCall: 6,
  perResult: 9,
  toolsOnce: 10,
  toolsAlone: 0,
  schemaOnce: -3,
  framingSlack: 7,
  toolsSlack: [14, 30],
  callsInMessages: false,
  perAnswer: 2,
}

const RESPONSES_REASONING: Overhead = { ...RESPONSES, perRequest: 2, toolsOnce: 16, toolsSlack: [16, 90] }

/** Open models behind compatible servers: their templates write the JSON as it is, and most servers keep schemas out of the prompt. */
const TEMPLATED: Overhead = {
  ...OPENAI,
  perMessage: 5,
  perCall: 14,
  perResult: 8,
  framingSlack: 16,
  toolsOnce: 110,
  toolsAlone: 0,
  perTool: 4,
  toolsFactor: 1.1,
  toolsReadAs: false,
  toolsSpread: 0.45,
  toolsSlack: [110, 60],
  schemaOnce: 0,
  schemaFactor: 0.5,
  schemaSpread: 1,
  schemaSlack: 10,
}

const GEMINI: Overhead = {
  perRequest: 0,
  perMessage: 1,
  perCall: 10,
  perResult: 10,
  perAnswer: 1,
  framingSlack: 3,
  toolsOnce: 2,
  toolsAlone: 0,
  perTool: 0,
  toolsFactor: 0.93,
  toolsReadAs: false,
  toolsSpread: 0.25,
  toolsSlack: [24, 20],
  forcedTool: 0,
  // The schema steers the decoder and is not counted.
  schemaOnce: 0,
  schemaFactor: 0,
  schemaSpread: 0,
  schemaSlack: 0,
  thinkingOn: 0,
  perSealedCharacter: 0,
  headIsMessage: true,
  callsInMessages: true,
}

/** The third generation reads its signatures again; the second took less for tools and calls. */
const GEMINI_3: Overhead = { ...GEMINI, toolsFactor: 1.03, perSealedCharacter: 0.18 }
const GEMINI_2: Overhead = { ...GEMINI, toolsFactor: 0.45, toolsSpread: 0.4, perCall: 2, perResult: 2 }

const CLAUDE: Overhead = {
  perRequest: 4,
  perMessage: 3,
  perCall: 46,
  perResult: 14,
  perAnswer: 0,
  framingSlack: 8,
  toolsOnce: 492,
  toolsAlone: 0,
  perTool: 6,
  toolsFactor: 1.1,
  toolsReadAs: false,
  toolsSpread: 0.12,
  toolsSlack: [215, 60],
  forcedTool: 94,
  schemaOnce: 140,
  schemaFactor: 1.05,
  schemaSpread: 0.25,
  schemaSlack: 24,
  thinkingOn: 29,
  perSealedCharacter: 0,
  headIsMessage: false,
  callsInMessages: true,
}

/** Claude 3.x and 4.0, the small models and those from 4.7 on hide a shorter prompt behind their tools than Sonnet and Opus 4.5 and 4.6. */
const CLAUDE_SHORTER: Overhead = { ...CLAUDE, toolsOnce: 290, toolsSlack: [60, 80] }
const SHORTER = /claude-3|(sonnet|opus)-4(-0|-2025|-1|$)|haiku/

function geminiOf(model: string): Overhead {
  if (/gemini-[3-9]/.test(model)) return GEMINI_3
  return /gemini-(1|2\.0)/.test(model) ? GEMINI_2 : GEMINI
}

const isOpenAi = (family: string): boolean => family === 'o200k' || family === 'cl100k'

/** What the model and the framing of its wire add. */
export function overheadOf(framing: PromptFraming, model: string, family: string): Overhead {
  if (family === 'claude-2026' || (family.startsWith('claude') && SHORTER.test(model))) return CLAUDE_SHORTER
  if (family.startsWith('claude')) return CLAUDE
  if (family === 'gemini' || framing === 'contents') return geminiOf(model)
  if (!isOpenAi(family)) return TEMPLATED
  const isReasoning = /gpt-[5-9]|(^|\/)o[134]/.test(model)
  if (framing === 'items') return isReasoning ? RESPONSES_REASONING : RESPONSES
  return isReasoning ? OPENAI_REASONING : OPENAI
}

/** Messages that items stand in: those of one message share its index, and each item that we insert stands in a message of its own. */
export function messagesIn({ callsInMessages }: Overhead, items: readonly Item[]): number {
  let messages = 0
  let last = -1
  for (const { kind, message } of items) {
    if (!callsInMessages && (kind === 'call' || kind === 'result')) continue
    if (message < 0 || message > last) messages++
    last = Math.max(last, message)
  }
  return messages
}

/**
 * How far whole requests of a family have really been off, downwards and upwards, as shares of the estimate. It is wrong in one direction for
 * all of a request, so it is added after the parts are summed. Until a model has been measured, its bounds are this wide.
 */
const BIAS: Readonly<Record<string, readonly [below: number, above: number]>> = {
  // The public vocabularies are the vendor's own.
  o200k: [0, 0],
  cl100k: [0, 0],
  claude: [0.06, 0.1],
  'claude-2026': [0.3, 0.2],
  // Gemma's vocabulary stands in for Gemini's: function responses came out up to a sixth larger.
  gemini: [0.05, 0.16],
}
/** Open models: the vocabulary is theirs where it is installed, the template around it is not known. */
const BIAS_ELSE = [0.08, 0.1] as const

/** `doubt` is 1 for a model without measurements and falls to 0 with what was seen of it. */
export function widened(count: Count, family: string, doubt: number): Count {
  const [below, above] = BIAS[family] ?? BIAS_ELSE
  if (doubt <= 0 || (below === 0 && above === 0)) return count
  const { tokens, low, high, unsure = 0, source } = count
  return countFrom(tokens, Math.max(0, low - tokens * below * doubt), high + tokens * above * doubt, unsure, source)
}

/** Claude models that forget thinking of finished turns: it is sent and billed as nothing. Later ones keep it. */
const FORGETS = /claude-(3|(opus|sonnet)-4(-0|-1|-2025\d+|$)|(sonnet|haiku)-4-5)/

export const forgetsThinking = (model: string, family: string): boolean =>
  family.startsWith('claude') && FORGETS.test(model.replaceAll('.', '-'))
