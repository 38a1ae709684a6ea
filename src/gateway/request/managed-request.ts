import type { Codec, ModelResponse } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import type { EventBody } from '../../core/events.ts'
import type { LearnedLimits } from '../../engine/learning/learned-limits.ts'
import type { ToolOffer } from '../../engine/readers/offered-tools.ts'
import type { Session } from '../../engine/session/session.ts'
import type { IncomingRequest, Upstream } from '../exchange-types.ts'
import type { HiddenSession } from '../hidden/index.ts'
import type { Route } from '../../formats/endpoints.ts'
import type { ConversationLimits } from './conversation-limits.ts'

/** One request for a model, on its way through the gateway. */
export interface ManagedRequest<B> {
  readonly request: IncomingRequest
  readonly route: Route
  readonly codec: Codec
  readonly decode: (text: string) => Conversation
  /** By wire, for places that speak another. */
  readonly codecs: ReadonlyMap<string, Codec>
  /** The body as the client wrote it, unpacked. */
  readonly clientText: string
  /** The same as it was read, with steps back in it that the client never saw. */
  readonly conversation: Conversation
  /** Tools of ours in this session. */
  readonly hidden: HiddenSession | undefined
  /** Those of them that this request may declare. */
  readonly offer: ToolOffer | undefined
  readonly tenant: string
  readonly sessionId: string
  readonly agent: string
  readonly session: Session
  readonly mode: 'apply' | 'observe'
  readonly upstream: Upstream<B>
  /** What conversations are kept within after a refusal. */
  readonly held: ConversationLimits
  /** An answer ends when it is recorded. */
  readonly isShared: boolean
  readonly learned: LearnedLimits
  readonly window: number | undefined
  /** The client's text with the history that the provider holds; undefined where not all of it passed here. */
  readonly writeOut: (() => Promise<string | undefined>) | undefined
  readonly emit: (event: EventBody) => void
  readonly now: () => number
  readonly costUsd: () => number | undefined
  /** Told about each answer, once it is over; undefined when nothing could be made of it. */
  readonly onResponse: (response: ModelResponse | undefined) => Promise<void>
}
