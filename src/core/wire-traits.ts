/**
 * The structure that a prompt adds around its parts. `messages`: around messages and the calls and results in them; `items`: around each call and
 * result; `contents`: hardly any.
 */
export type PromptFraming = 'messages' | 'items' | 'contents'

/** Properties of a wire that the engine or the meter asks for, instead of asking for its name. */
export interface WireTraits {
  readonly promptFraming: PromptFraming
  /** The window holds the answer as well as the prompt. */
  readonly windowHoldsAnswer: boolean
  /** Headers that the vendor needs for `dropStaleThinking`. */
  readonly staleThinkingHeaders: Readonly<Record<string, string>>
  /** The provider keeps its answers, and a later request may refer to one instead of repeating the history. */
  readonly keepsAnswers: boolean
  /** Whether the provider at a base URL (the vendor, if none is given) can compact a history that it holds. */
  compactsHistory(endpoint: string | undefined): boolean
}
