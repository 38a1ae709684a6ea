import type { CacheLife } from './cache.ts'
import type { Item, Origin, ToolDeclaration } from './item.ts'

/** The settings of a request that the engine reads. */
export interface RequestSettings {
  readonly model?: string
  /** The request's own output cap. */
  readonly maxOutputTokens?: number
  /** The window that the request asks the server for, on wires where it can. */
  readonly window?: number
  readonly stream: boolean
  /** Extended thinking or reasoning is switched on. */
  readonly reasoning: boolean
  /** Tokens set aside for thinking; the output cap must stay above it. */
  readonly thinkingBudget?: number
  /** Responses API: history that the provider holds and the body does not show. */
  readonly previousResponseId?: string
  readonly conversationId?: string
  /** A schema or a forced tool fixes the form of the answer, so free text cannot be asked for. */
  readonly shapesAnswer?: true
  /** The schema of the answer as a text that the models read. */
  readonly answerSchema?: string
  /** The model has to call a tool. */
  readonly forcesTool?: true
  /**
   * Content that the provider adds to the prompt and the body does not show: history and templates that it holds, tools that it runs. The provider's
   * count includes it; ours does not.
   */
  readonly unseen?: readonly string[]
  /** How long the provider shall keep the prompt, where the request says so. @default by model */
  readonly cacheLife?: CacheLife
  /** Where the client's cache marks stand, in the order in which the provider reads them. */
  readonly marks?: readonly string[]
}

/** The provider's own context management; thresholds in tokens of the prompt. */
export interface NativeManagement {
  /** Compacts from here on. */
  readonly compactAtTokens?: number
  /** Clears old tool results from here on, all but the newest `keep`, and at least so many tokens at a time. */
  readonly clearToolUses?: { readonly atTokens: number; readonly keep: number; readonly atLeastTokens: number }
  /** Clears thinking of all but the newest turns. */
  readonly clearThinking?: { readonly keepTurns: number }
}

/** Changes to the envelope, written by the codec when the conversation is encoded. */
export interface EnvelopeChanges {
  readonly maxOutputTokens?: number
  /** The declared tools that stay, for a final turn. */
  readonly keepTools?: readonly string[]
  /** Tools stay declared and must not be called, where the wire can say so without losing the prompt cache; `strictly`: even if the cache is lost. */
  readonly forbidTools?: true | 'strictly'
  /** Tools of ours, appended after the client's own. */
  readonly addTools?: readonly NewTool[]
  /** Appended to the instructions, where the wire keeps them. */
  readonly addInstruction?: string
  /** The provider's own context management, where the wire has it and the client requested none. */
  readonly native?: NativeManagement
  /** The provider says what kept its cache from being read, compared with its answer of this id; null: there is none yet. Where the wire has it. */
  readonly diagnose?: string | null
  /** The provider drops thinking that is bound to a changed prefix instead of refusing the request. */
  readonly dropStaleThinking?: true
}

export interface NewTool {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/**
 * A decoded request. `head` holds the instructions in front of the history; they and the tools are outside the chain. `items` is the history in
 * order.
 */
export interface Conversation {
  readonly format: string
  readonly head: readonly Item[]
  readonly items: readonly Item[]
  readonly tools: readonly ToolDeclaration[]
  readonly settings: RequestSettings
  readonly changes?: EnvelopeChanges
  /** Contains items that its text does not contain. */
  readonly isRestored?: true
  /** UTF-8 length of the received body. */
  readonly bytes?: number
  /** The codec's own index into the original text. Carried, never opened. */
  readonly source: Origin
}

/** Something that the other API format cannot express. */
export interface Loss {
  readonly itemId: string
  readonly what: string
  /** The answer does not change without it: a hint to the provider, a cache mark, reasoning that only its issuer can read. */
  readonly minor?: true
}
