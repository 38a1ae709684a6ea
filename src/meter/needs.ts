import type { Count } from '../core/count.ts'
import type { EventBody } from '../core/events.ts'
import type { PriceModel } from '../core/price.ts'

/** What the meter wants to know about a model. The `Catalogue` port fits this. */
export interface ModelFacts {
  readonly id: string
  readonly window: number
  /** The user set it; nothing that is catalogued or learned goes over it. */
  readonly windowIsSet?: true
  readonly inputLimit?: number
  readonly maxOutputTokens?: number
  readonly price?: PriceModel
  readonly tokenizer: string
  readonly reasoning: boolean
}

export interface ModelLookup {
  resolve(model: string): { readonly info: ModelFacts; readonly match: 'exact' | 'normalised' | 'default' }
}

/** Counts text. The `Tokenizer` port fits this. */
export interface TextCounter {
  readonly name: string
  count(text: string): Count
}

/** Where the meter reports what it had to guess or give up. The engine adds time, tenant and session. */
export type MeterEvents = (event: EventBody) => void

export const ignoreEvents: MeterEvents = () => {}
