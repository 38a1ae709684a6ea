import type { Codec, ModelResponse } from '../../core/codec.ts'
import type { Conversation } from '../../core/conversation.ts'
import { PlimsollError } from '../../core/errors.ts'
import type { EventBody } from '../../core/events.ts'
import type { LearnedLimits } from '../../engine/learned-limits.ts'
import type { Session } from '../../engine/session.ts'
import { deliver } from './deliver.ts'
import type { IncomingRequest, Reply, Upstream } from './exchange.ts'
import { fit } from './fit.ts'
import type { HiddenSession } from './hidden/index.ts'
import { halted, relayed } from './relay.ts'
import type { Route } from './routes.ts'

/** One request for a model, on its way through the gateway. */
export interface ManagedRequest<B> {
  readonly request: IncomingRequest
  readonly route: Route
  readonly codec: Codec
  /** The body as the client wrote it, unpacked. */
  readonly clientText: string
  /** The same with what we put in before the engine sees it. */
  readonly text: string
  readonly conversation: Conversation
  /** Tools of ours in this session. */
  readonly hidden?: HiddenSession
  readonly tenant: string
  readonly sessionId: string
  readonly agent: string
  readonly session: Session
  readonly mode: 'apply' | 'observe'
  readonly upstream: Upstream<B>
  readonly learned: LearnedLimits
  readonly window?: number
  readonly emit: (event: EventBody) => void
  readonly now: () => number
  readonly costUsd: () => number | undefined
  /** Told about each complete answer. */
  readonly onResponse: (response: ModelResponse) => Promise<void>
}

/** prepare → send → recover an overflow once, or move to the next place → pass the answer on while reading along. */
export async function exchange<B>(managed: ManagedRequest<B>): Promise<Reply<B>> {
  const startedAt = managed.now()
  const { places } = managed.request
  for (const [i, place] of places.entries()) {
    const isLast = i === places.length - 1
    const attempt = await fit(managed, place, isLast)
    if (attempt === undefined) continue
    if (attempt.prepared.verdict.kind === 'halt') return halted(managed, attempt)
    const sent = await deliver(managed, attempt, isLast)
    if (sent !== undefined) return relayed(managed, sent, startedAt)
  }
  throw new PlimsollError('upstream', 'No upstream took the request.', { retryable: true })
}
