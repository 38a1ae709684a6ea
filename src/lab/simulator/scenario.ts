/** A session that can be played against any policy: what the client says, what its tools return, how its provider counts. */
export interface Scenario {
  readonly name: string
  /** Tokens that the provider takes. */
  readonly window: number
  /** Characters of the system prompt. */
  readonly system: number
  readonly turns: number
  /** True tokens for each token of the bytes / 4 heuristic. */
  readonly ratio: number
  /** Whether the provider reports usage; a number: from that turn on. */
  readonly usage: boolean | number
  readonly tools?: ToolSet
  readonly turn: (index: number) => Turn
  readonly toolName: (tool: number) => string
  readonly expects: Expectations
  /** Compactions and highest real tokens of the reference run. */
  readonly reference: { readonly compactions: number; readonly peakReal: number }
}

/** One turn: a user message, perhaps tools, and a closing text. Sizes are characters. */
export interface Turn {
  readonly user: number
  readonly media?: readonly Blob[]
  /** Results that come in one message. */
  readonly parallel?: readonly number[]
  /** Results that come one after another, a model call after each. */
  readonly sequential?: readonly number[]
  /** Number of the turn's first tool among the scenario's. @default 0 */
  readonly firstTool?: number
  /** Characters of the closing text after its opening words. @default 120 */
  readonly reply?: number
}

export interface Blob {
  readonly mime: string
  readonly bytes: number
}

export interface ToolSet {
  readonly count: number
  /** All declarations together, by the bytes / 4 heuristic. */
  readonly tokens: number
}

export interface Expectations {
  readonly noOverflow: boolean
  readonly noLoop: boolean
  readonly minCompactions: number
}

const closing = (index: number): string => `Turn ${index} analysis: `
const DEFAULT_REPLY = 120

/** The model's closing text, as long as the scenario says. */
export function replyText(
  index: number,
  { reply = DEFAULT_REPLY }: Turn,
  filler: (characters: number) => string,
): string {
  return closing(index) + filler(reply)
}
