import type { Splice } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Plan } from '../../core/edits.ts'
import type { Limit, Load, Target, Thresholds, Verdict } from '../../core/target.ts'
import type { SendToModel } from '../../ports/model-call.ts'
import type { ToolOffer } from '../readers/offered-tools.ts'

export interface PrepareRequest<Body extends string | object = string | object, Format extends string = string> {
  readonly format: Format
  /** The request's text (byte-exact) or an object. */
  readonly body: Body
  /** In order of preference: the first on which the request fits as it stands gets it. @default the body's model */
  readonly targets?: readonly Target[]
  /** Model calls still to come, for weighing an epoch's price. @default max(5, half the calls so far) */
  readonly expectedCalls?: number
  /** Sends one more request to the model at hand: policies with summaries in band need it. */
  readonly send?: SendToModel
  /** The same for whichever target is chosen. */
  readonly sendTo?: (target: Target) => SendToModel | undefined
  /** The body as its codec decoded it, when the caller had to look into it already. */
  readonly conversation?: Conversation
  /** The body with the history that the provider holds written out, where all of it is known: what is sent when it no longer fits. */
  readonly writeOut?: () => Promise<string | undefined>
  /** Readers that the caller answers itself and that the request may declare. */
  readonly tools?: ToolOffer
  /** The caller only observes: whatever the verdict is, the request is sent and its answer recorded. @default false */
  readonly sentAnyway?: boolean
  /** `meanwhile`: a request about which nothing new was decided is archived together with its answer. @default 'before' */
  readonly archive?: 'before' | 'meanwhile'
}

export interface PreparedTurn<Body extends string | object = string | object> {
  readonly id: string
  /** Ready to send, in the wire it came in: text for text, and for an object one that an SDK takes where it took the first. */
  readonly body: Body extends string ? string : Body
  /** The same as text. */
  readonly text: string
  /** What the text that came in was changed by, in order; absent where nothing was changed, or it was written anew. */
  readonly splices?: readonly Splice[]
  readonly headers: Readonly<Record<string, string>>
  readonly verdict: Verdict
  readonly load: Load
  readonly limit: Limit
  readonly edits: Plan
  readonly epoch?: string
  /** Tools of the offer that leave with this request. */
  readonly declared: readonly string[]
  readonly report: PrepareReport
}

export interface PrepareReport {
  /** True when the bytes that leave are the bytes that came in. */
  readonly untouched: boolean
  /** Of the transcript as it came, before anything that stands was applied. */
  readonly loadOriginal: number
  readonly loadBefore: number
  readonly loadAfter: number
  readonly newEpoch?: { readonly id: string; readonly forced: boolean; readonly covered: number }
  readonly shortened: readonly { readonly itemId: string; readonly handle: string; readonly originalBytes: number }[]
  /** Above low water although a reduction ran; no error. */
  readonly tight: boolean
  /** Where compaction starts, and the load that it aims at. */
  readonly thresholds: Thresholds
}
