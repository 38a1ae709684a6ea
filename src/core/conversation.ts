import type { Item, Origin, ToolDeclaration } from './item.ts'

/** What a request asks for beside its history, as far as the engine decides on it. */
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
  /** A schema or a forced tool decides what the answer looks like: free text cannot be asked for. */
  readonly shapesAnswer?: true
  /** The schema of the answer as a text that the models read. */
  readonly answerSchema?: string
  /** The model has to call a tool. */
  readonly forcesTool?: true
  /**
   * What the provider puts into the prompt and the body does not show: history and templates that it holds, tools that it runs. It is in
   * the provider's count and not in ours.
   */
  readonly unseen?: readonly string[]
}

/** What the provider is asked to do with a history by itself, in tokens of the prompt. */
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
  /** Only these declared tools stay; the final turn's allow-list. */
  readonly keepTools?: readonly string[]
  /** Tools stay declared and may not be called, as far as the wire can say so without giving up its cache; `strictly`, whatever it gives up. */
  readonly forbidTools?: true | 'strictly'
  /** Tools of ours, appended after the client's own. */
  readonly addTools?: readonly NewTool[]
  /** Appended to the instructions, where the wire keeps them. */
  readonly addInstruction?: string
  readonly dropPreviousResponseId?: true
  /** The provider's own context management, where the wire has it and the client asked for none itself. */
  readonly native?: NativeManagement
  /** Thinking that is bound to a changed prefix is left out by the provider instead of refused. */
  readonly dropStaleThinking?: true
}

export interface NewTool {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

/**
 * A decoded request. `head` holds the instructions that stand before the history; they and the tools are outside the
 * chain (see `identity.ts`). `items` is the history in order.
 */
export interface Conversation {
  readonly format: string
  readonly head: readonly Item[]
  readonly items: readonly Item[]
  readonly tools: readonly ToolDeclaration[]
  readonly settings: RequestSettings
  readonly changes?: EnvelopeChanges
  /** Items stand in it that its text does not have. */
  readonly isRestored?: true
  /** UTF-8 length of the body as it came. */
  readonly bytes?: number
  /** The codec's own index into the original text. Carried, never opened. */
  readonly source: Origin
}

/** Something another wire has no room for. */
export interface Loss {
  readonly itemId: string
  readonly what: string
  /** The answer means the same without it: a hint to the provider, a mark, reasoning that only its issuer can read. */
  readonly minor?: true
}
