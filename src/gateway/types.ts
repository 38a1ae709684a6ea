import type { PreparedTurn } from '../engine/prepare/prepare.ts'
import type { HeaderReader } from '../formats/endpoints.ts'
import type { TenantRule } from './identity.ts'
import type { Headers, UpstreamAnswer } from './read-answer.ts'

/** A configured upstream. */
export interface Upstream {
  /** Base URL, or origin; windows are learned per endpoint. */
  readonly endpoint: string
  /** The model to request here instead of the client's. */
  readonly model?: string
  readonly window?: number
  /** Its name in the configuration. */
  readonly provider?: string
  /** Its wire, if that is not the client's. */
  readonly wire?: string
}

/** The client's request, as both shells pass it on. */
export interface IncomingRequest {
  readonly method: string
  /** Path and query, without the prefix that selects the upstream. */
  readonly path: string
  readonly header: HeaderReader
  readonly body: Uint8Array
  /** Tried in order. */
  readonly upstreams: readonly Upstream[]
  /** How tenants are told apart if the settings do not say. @default 'credential' */
  readonly tenants?: TenantRule
}

/** The request that a shell sends upstream: the client's request with these changes. */
export interface Outbound {
  readonly upstream: Upstream
  readonly path: string
  readonly body: Uint8Array
  /** Headers to set; undefined removes one. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** A request of our own, for a summary. */
  readonly aside?: true
  /** The client's headers are not sent, because this upstream belongs to another vendor. */
  readonly foreign?: true
}

/** Sends a request to an upstream. Rejects if there is no answer: refused, reset, timed out, cancelled by the client. */
export type Transport = (request: Outbound) => Promise<UpstreamAnswer>

/** The reply of a shell to its client. */
export interface Reply {
  readonly status: number
  readonly statusText?: string
  readonly headers: Headers
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>
  /**
   * Resolves when the answer is recorded; called after its body was forwarded. A client behind a socket need not wait
   * for it; a program that may end at once should.
   */
  readonly settled?: () => Promise<void>
  readonly turn?: TurnReport
}

/** `now`: the next request needs the record. `behind`: the client gets its answer first. */
export type When = 'now' | 'behind'

/** The facts of a managed request for the log line. */
export interface TurnReport {
  readonly session: string
  readonly agent: string
  readonly prepared: PreparedTurn
  /** The first answer was an overflow; the client saw the second one. */
  readonly recovered: boolean
  readonly upstream: Upstream
}
