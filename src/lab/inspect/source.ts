import type { PriceModel } from '../../core/price.ts'
import type { Usage } from '../../core/usage.ts'

/** What an inspection reads of a recording. Loaders' recordings fit it as they are. */
export interface InspectSource {
  readonly format: string
  readonly file: string
  readonly name?: string
  readonly model?: string
  readonly system?: string
  readonly tools: readonly { readonly name: string; readonly json: string }[]
  readonly messages: readonly InspectMessage[]
  readonly calls: readonly InspectCall[]
  readonly compactions: readonly { readonly beforeCall: number; readonly tokensBefore?: number }[]
  readonly problems: readonly { readonly line: number; readonly message: string }[]
}

export interface InspectMessage {
  readonly line: number
  readonly parts: readonly InspectPart[]
}

export interface InspectPart {
  readonly kind: string
  readonly text: string
  readonly callId?: string
  readonly toolName?: string
  readonly input?: unknown
  readonly mediaBytes?: number
}

export interface InspectCall {
  readonly index: number
  readonly from: number
  readonly to: number
  readonly usage?: Usage
  readonly outputPartial?: true
}

export interface InspectOptions {
  readonly countText: (text: string) => number
  /** The model's window; unknown windows draw no line. */
  readonly window?: number
  /** The model's list price; without one no dollars are shown. */
  readonly price?: PriceModel
  /** Biggest items and read-again files to name. @default 10 */
  readonly top?: number
  /** Tokens of one picture or document whose pixels we do not see. @default 1500 */
  readonly mediaTokens?: number
}
