import type { PreparedTurn } from '../engine/prepare/prepare.ts'
import type { HeaderReader } from '../formats/endpoints.ts'
import type { TenantRule } from './identity.ts'
import type { Headers, UpstreamAnswer } from './read-answer.ts'

/** One upstream that a request may go to. Only those of the configuration exist. */
export interface Upstream {
  /** Base URL, or origin; windows are learned per endpoint. */
  readonly endpoint: string
  /** Asks this one for another model than the client named. */
  readonly model?: string
  readonly window?: number
  /** The name that it is configured under. */
  readonly provider?: string
  /** The wire that it speaks, where that is not the client's. */
  readonly wire?: string
}

/** What both shells hand over: the request as it came. */
export interface IncomingRequest {
  readonly method: string
  /** Path and query, without the prefix that chose the upstream. */
  readonly path: string
  readonly header: HeaderReader
  readonly body: Uint8Array
  /** Tried in order. */
  readonly upstreams: readonly Upstream[]
  /** Whose content it is where the settings do not say. @default 'credential' */
  readonly tenants?: TenantRule
}

/** What a shell sends upstream: the client's own request with these changes. */
export interface Outbound {
  readonly upstream: Upstream
  readonly path: string
  readonly body: Uint8Array
  /** Headers to set; undefined takes one out. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** A request of our own beside the client's: for a summary. */
  readonly aside?: true
  /** Nothing of the client's own headers goes along: this upstream belongs to another vendor. */
  readonly foreign?: true
}

/** How a shell reaches upstreams. Rejects when there is no answer: refused, reset, timed out, aborted by the client. */
export type Transport = (request: Outbound) => Promise<UpstreamAnswer>

/** What a shell answers its client. */
export interface Reply {
  readonly status: number
  readonly statusText?: string
  readonly headers: Headers
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>
  /**
   * Resolves when everything about an answer is recorded; asked for after its body has been passed on. A client at a socket need not wait
   * for it; a program that may end at once should.
   */
  readonly settled?: () => Promise<void>
  readonly turn?: TurnReport
}

/** `now`: the request that goes on needs it. `behind`: the client has its answer first. */
export type When = 'now' | 'behind'

/** What a log line may say about a managed request. */
export interface TurnReport {
  readonly session: string
  readonly agent: string
  readonly prepared: PreparedTurn
  /** The first answer was an overflow; the client saw the second one. */
  readonly recovered: boolean
  readonly upstream: Upstream
}
