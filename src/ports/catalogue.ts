import type { PriceModel } from '../core/price.ts'

export interface ModelInfo {
  /** Canonical id in the catalogue. */
  readonly id: string
  readonly window: number
  /** The user set it; nothing that is catalogued or learned goes over it. */
  readonly windowIsSet?: true
  /** The prompt alone may not be larger than this, where the vendor limits it apart from the output. */
  readonly inputLimit?: number
  readonly maxOutputTokens?: number
  readonly price?: PriceModel
  /** Tokenizer family: `o200k`, `cl100k`, `claude`, `claude-2026`, `gemini`, `llama3`, … */
  readonly tokenizer: string
  readonly reasoning: boolean
  /** Thinking blocks are bound to everything before them. */
  readonly bindsThinking: boolean
}

export interface Resolution {
  readonly info: ModelInfo
  /** How the id was matched: as written, after taking off vendor prefixes and dates, or not at all. */
  readonly match: 'exact' | 'normalised' | 'default'
}

/** Knows models. Promises: never throws, never asks the network; an unknown id gives a stated default. */
export interface Catalogue {
  resolve(model: string): Resolution
  search(query: string): readonly ModelInfo[]
}
