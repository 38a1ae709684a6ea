import type { PriceModel } from '../core/price.ts'

export interface ModelInfo {
  /** Canonical id in the catalogue. */
  readonly id: string
  readonly window: number
  /** The user set the window; catalogued and learned windows do not override it. */
  readonly windowIsSet?: true
  /** The largest prompt, where the vendor limits it separately from the output. */
  readonly inputLimit?: number
  readonly maxOutputTokens?: number
  readonly price?: PriceModel
  /** Tokenizer family: `o200k`, `cl100k`, `claude`, `claude-2026`, `gemini`, `llama3`, … */
  readonly tokenizer: string
  readonly reasoning: boolean
  /** Thinking blocks are valid only after the exact history before them. */
  readonly bindsThinking: boolean
  /** An answer stops where the window ends; any other model's provider refuses a prompt and an output cap that are larger together. */
  readonly stopsAtWindow?: boolean
}

export interface Resolution {
  readonly info: ModelInfo
  /** How the id was matched: exactly, after removing vendor prefixes and dates, by the newest model of its kind and generation, or not at all. */
  readonly match: 'exact' | 'normalised' | 'sibling' | 'default'
}

/** Facts about models. Promises: never throws, uses no network; an unknown id gets a stated default. */
export interface Catalogue {
  resolve(model: string): Resolution
  search(query: string): readonly ModelInfo[]
}
