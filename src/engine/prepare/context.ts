import type { Link } from '../../core/chain.ts'
import type { Codec } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { Plan } from '../../core/edits.ts'
import type { EventBody } from '../../core/events.ts'
import type { Handle } from '../../core/handles.ts'
import type { Limit, Load, Target, Thresholds, Verdict } from '../../core/target.ts'
import type { Measurement, Occupancy, TargetRef } from '../../meter/index.ts'
import type { SendToModel } from '../../ports/model-call.ts'
import type { EngineDeps, Presented } from '../deps.ts'
import type { OpenOffer, ToolOffer } from '../readers/offered-tools.ts'
import type { Readers } from '../readers/reader-tools.ts'
import type { Branch, Standing, Unwritten } from '../session/branch.ts'
import type { Audit, Epoch, FirstSendEdit, LogRecord, RequestSent, UsageSeen } from '../../core/records.ts'
export type { Standing }

/**
 * A request that was read: what the engine takes as it is. The gateway makes one of each request that it opens, the verb `prepare` of what its
 * caller gave.
 */
export interface ReadRequest {
  readonly codec: Codec
  /** The body as it came. */
  readonly text: string
  readonly conversation: Conversation
  /** The content chain of its items. */
  readonly links: readonly Link[]
  /** In order of preference. */
  readonly targets: readonly Target[]
  /** The API key that pays for it, where that is not the session's. */
  readonly key?: string
  /** Calls that the caller still counts on; the price gate's horizon. */
  readonly expectedCalls?: number
  /** Sends one more request to the target at this place in the list. */
  readonly sendTo?: (target: number) => SendToModel | undefined
  /** Readers that the caller answers itself and that the request may declare. */
  readonly tools?: ToolOffer
  /** The body with the history that the provider holds written out, where all of it is known: what is sent when it no longer fits. */
  readonly writeOut?: () => Promise<string | undefined>
  /** The caller only observes: whatever the verdict is, the request is sent and its answer recorded. */
  readonly isObserved?: boolean
  /** A further step for a tool of ours: a call that the client did not ask for. */
  readonly isOwnStep?: true
  /** The answer will be read along: a request about which nothing new was decided is archived together with it. */
  readonly isReadAlong?: boolean
}

/** A request on its way through `prepare`, and where it is going. */
export interface PrepareContext extends ReadRequest {
  readonly deps: EngineDeps
  readonly branch: Branch
  /** Length of its text in UTF-8. */
  readonly bytes: number
  /** Items and links at the start that the last request had as well: what is asked once about an item was asked then. */
  readonly known: { readonly items: number; readonly links: number }
  readonly target: Target
  /** Its place in the list of the request. */
  readonly chosen: number
  /** The target as the meter reads it: with what this branch has learned about its tokenizer. */
  readonly gauge: Exclude<TargetRef, string>
  readonly limit: Limit
  /** Tools that can bring back what is shortened before its first send: the client's own, or ours. */
  readonly readers: Readers
  /** The same behind an epoch. */
  readonly epochReaders: () => Readers
  /** Tools of ours, by what a view leaves out. */
  readonly offer: OpenOffer
  /** Asks the model at hand, for a summary in band. */
  readonly send: SendToModel | undefined
  /** A model is asked while requests go on: `signal` ends it, and what it cost waits in `records` for its turn in the log. */
  readonly inBackground?: { readonly signal: AbortSignal; readonly records: LogRecord[] }
  readonly emit: (body: EventBody) => void
}

/** A load with how much of it was measured, and how much of the rest is media; a design's formula says neither. */
export type CountedLoad = Load & Partial<Pick<Occupancy, 'measured' | 'measuredItems' | 'mediaHigh' | 'counters'>>

/** A candidate for what leaves. */
export interface View {
  readonly plan: Plan
  readonly conversation: Conversation
  /** The body in the wire's own text; the incoming bytes themselves when the plan is empty. */
  readonly text: string
  /** Headers that the body needs beside the client's own. */
  readonly headers: Readonly<Record<string, string>>
  /** Counted from nothing but the text. */
  readonly measurement: Measurement
  /** Measured prompt of the last call plus what came since, where there was one; else the measurement. */
  readonly estimate: CountedLoad
  /** The same with a margin where the model is unknown: what reductions go by. */
  readonly load: Load
}

/** A result that is shown shorter from its first send on. */
export interface NewEdit {
  readonly index: number
  readonly record: FirstSendEdit & { readonly handle: Handle }
  readonly original: string
  /** What the original is; absent when it is stored already, as what a reader brought back is. */
  readonly about?: Presented['about']
}

/** What the log needs about one request. It is written once, however often it is asked for. */
export interface Journal {
  write(): Promise<void>
  /** The same with what is said about a request that leaves; apart from it where it is written already. */
  writeWith(sent: readonly (RequestSent | Audit)[]): Promise<void>
  /** Its records, to be written with the answer; undefined where they are written, or something in them must be durable before the request leaves. */
  later(): Unwritten | undefined
}

/** The decision about a request that fits: may it be paid for? */
export interface Permission {
  readonly verdict: Verdict
  readonly reservation?: string | undefined
  /** The view as it leaves: restricted for a closing answer. */
  readonly view: View
}

/** A request that was read for one of its targets. Each stage of `prepare` adds to it what it found out. */
export interface Opened {
  readonly context: PrepareContext
  /** What stood before this request. */
  readonly found: Standing
  /** Its view under that, where it was needed to choose the target. */
  readonly seen?: View
}

export interface Resolved extends Opened {
  /** The epoch, where it had to be moved to fit what the client sends now. Not recorded yet: a request that declares its own does not need it. */
  readonly moved: Epoch | undefined
}

export interface TakenIn extends Resolved {
  /** What was found, and the new edits. */
  readonly standing: Standing
  readonly edits: readonly NewEdit[]
}

export interface Measured extends TakenIn {
  readonly view: View
}

/** As small as it gets. */
export interface Reduced extends Measured {
  /** The view before. */
  readonly before: View
  /** The epoch that this request declared. */
  readonly epoch: Epoch | undefined
  /** Where no epoch makes the request fit, the smallest view that was found. */
  readonly smallest: View | undefined
  /** What stood before it, as the log takes it over. */
  readonly decided: Standing
  /** What the log needs about it. */
  readonly journal: Journal
}

/** May leave, or is halted by the budgets. */
export interface Permitted extends Reduced {
  readonly permission: Permission
  /** The policy makes it the last one of its session. */
  readonly isClosing: boolean
  /** Of what the compaction that stood had taken out. */
  readonly fetchedAgain?: UsageSeen['fetchedAgain']
}

/** What counting needs to know about where a text goes. */
export type Weighing = Pick<PrepareContext, 'deps' | 'branch' | 'target' | 'gauge'>

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
  /** Readers that the caller answers itself and that the request may declare. */
  readonly tools?: ToolOffer
}

export interface PreparedTurn<Body extends string | object = string | object> {
  readonly id: string
  /** Ready to send, in the wire it came in: text for text, and for an object one that an SDK takes where it took the first. */
  readonly body: Body extends string ? string : Body
  /** The same as text. */
  readonly text: string
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

/** What the gateway learns beside it. */
export interface ReadyRequest extends PreparedTurn<string> {
  /** The place of its target in the list of the request. */
  readonly chosen: number
  /** Output tokens that the client asked for, where they were lowered to fit beside the prompt. */
  readonly askedOutput?: number
}

interface PrepareReport {
  /** True when the bytes that leave are the bytes that came in. */
  readonly untouched: boolean
  /** Of the transcript as it came, before anything that stands was applied. */
  readonly loadOriginal: number
  readonly loadBefore: number
  readonly loadAfter: number
  readonly newEpoch?: Pick<Epoch, 'id' | 'forced' | 'receipt'> & { readonly covered: number }
  readonly shortened: readonly { readonly itemId: string; readonly handle: string; readonly originalBytes: number }[]
  /** Above low water although a reduction ran; no error. */
  readonly tight: boolean
  /** Where compaction starts, and the load that it aims at. */
  readonly thresholds: Thresholds
}
