/**
 * What stands around the parts of a prompt: messages of a chat, calls and results inside them; `items`: calls and results each alone;
 * `contents`: parts with hardly anything around them.
 */
export type PromptFraming = 'messages' | 'items' | 'contents'

/** What a wire is like, where the engine or the meter decides by it. The wire tells it; nobody asks for its name. */
export interface WireTraits {
  readonly promptFraming: PromptFraming
  /** The window holds the answer as well as the prompt. */
  readonly windowHoldsAnswer: boolean
  /** Sent along with `dropStaleThinking`, which the vendor does not know without them. */
  readonly staleThinkingHeaders: Readonly<Record<string, string>>
  /** The provider keeps its answers, and a later request may name one instead of repeating what led to it. */
  readonly keepsAnswers: boolean
  /** Whether the provider at a base URL, or the vendor where none is given, makes a history that it holds smaller when it is asked to. */
  compactsHistory(endpoint: string | undefined): boolean
}
