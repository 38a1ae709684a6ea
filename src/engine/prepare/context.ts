import type { Link } from '../../core/chain.ts'
import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Plan } from '../../core/edits.ts'
import type { EventBody } from '../../core/events.ts'
import type { Limit, Load, Target } from '../../core/target.ts'
import type { Measurement, Occupancy, TargetRef } from '../../meter/index.ts'
import type { SendToModel } from '../../ports/model-call.ts'
import type { EngineDeps } from '../deps.ts'
import type { Outgoing } from '../memo/branch-memo.ts'
import type { OpenOffer, ToolOffer } from '../readers/offered-tools.ts'
import type { Readers } from '../readers/reader-tools.ts'
import type { Branch } from '../session/branch/branch.ts'
import type { Pause } from '../../util/yield-now.ts'

/** One request on its way through `prepare`: what came in and where it is going. */
export interface PrepareContext {
  readonly deps: EngineDeps
  readonly branch: Branch
  readonly codec: Codec
  /** The body as it came. */
  readonly text: string
  /** Its length in UTF-8. */
  readonly bytes: number
  readonly conversation: Conversation
  readonly links: readonly Link[]
  /** Items and links at the start that the last request had as well: whatever is asked once about an item was asked then. */
  readonly known: { readonly items: number; readonly links: number }
  readonly target: Target
  /** The target as the meter reads it: with what this branch has learned about its tokenizer. */
  readonly gauge: Exclude<TargetRef, string>
  readonly limit: Limit
  /** Tools that can bring back what is shortened before its first send: the client's own, or ours. */
  readonly readers: Readers
  /** The same behind an epoch. */
  readonly epochReaders: () => Readers
  /** Tools of ours, by what a view leaves out. */
  readonly offer: OpenOffer
  /** Calls that the caller still counts on; the price gate's horizon. */
  readonly expectedCalls: number | undefined
  /** Asks the model at hand, for a summary in band. */
  readonly send: SendToModel | undefined
  readonly emit: (body: EventBody) => void
  /** Between parts of the work that may be long: other requests get their turn. */
  readonly pause: Pause
}

/** A load with how much of it was measured, and how much of the rest is media; a design's formula says neither. */
export type CountedLoad = Load & Partial<Pick<Occupancy, 'measured' | 'measuredItems' | 'mediaHigh' | 'counters'>>

/** A candidate for what leaves. */
export interface View {
  readonly plan: Plan
  readonly conversation: Conversation
  /** The body in the wire's own text; the incoming bytes themselves when the plan is empty. */
  readonly text: string
  /** How a text was made from the client's own. It holds as long as that is still the view's text. */
  readonly outgoing: Outgoing
  /** Headers that the body needs beside the client's own. */
  readonly headers: Readonly<Record<string, string>>
  /** Counted from nothing but the text. */
  readonly measurement: Measurement
  /** Measured prompt of the last call plus what came since, where there was one; else the measurement. */
  readonly estimate: CountedLoad
  /** The same with a margin where nobody knows the model: what reductions go by. */
  readonly load: Load
}

export interface ContextRequest {
  readonly expectedCalls?: number
  readonly format: string
  readonly body: string | object
  readonly targets?: readonly Target[]
  readonly send?: SendToModel
  /** The same for whichever target is chosen. */
  readonly sendTo?: (target: Target) => SendToModel | undefined
  /** The body as its codec decoded it, when the caller had to look into it already. */
  readonly conversation?: Conversation
  /** Readers that the caller answers itself and that the request may declare. */
  readonly tools?: ToolOffer
}

/** What counting needs to know about where a text goes. */
export type Weighing = Pick<PrepareContext, 'deps' | 'branch' | 'target' | 'gauge'>
