import type { PreparedTurn } from '../engine/prepare/prepare.ts'
import type { Answer } from './answer.ts'
import type { HeaderReader, TenantRule } from './identity.ts'

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

/** An upstream's answer whose body has not been read. `B` is the shell's own kind of stream. */
export interface UpstreamAnswer<B> {
  readonly status: number
  readonly header: HeaderReader
  /** What follows on `taken`. */
  readonly body: B
  /** Pieces that `peek` has read; they come before `body`. */
  readonly taken: readonly Uint8Array[]
  /** Reads the next piece. It stays part of the answer. `late` when none came in time, and nothing is lost. */
  peek(waitMs: number): Promise<Uint8Array | 'end' | 'late'>
  /** Lets the connection go. */
  discard(): void
  /** The same answer with its bytes rewritten on the way. They come unpacked. */
  rewritten(rewrite: Rewrite): UpstreamAnswer<B>
}

/** The whole answer as it travelled; undefined when it is longer than `limit`, and then all of it can still be passed on. */
export async function wholeOf<B>(answer: UpstreamAnswer<B>, limit: number): Promise<Uint8Array | undefined> {
  let size = answer.taken.reduce((sum, piece) => sum + piece.length, 0)
  while (size <= limit) {
    const piece = await answer.peek(Infinity)
    if (typeof piece === 'string') return answer.taken.length === 1 ? answer.taken[0]! : Buffer.concat(answer.taken)
    size += piece.length
  }
  return undefined
}

/** Rewrites an answer piece by piece. What it throws breaks the answer off. */
export interface Rewrite {
  readonly contentType: string
  chunk(bytes: Uint8Array): Uint8Array
  end(): Uint8Array
}

/** How a shell reaches upstreams. */
export interface Transport<B> {
  /** Rejects when there is no answer: refused, reset, timed out, aborted by the client. */
  send(request: Outbound): Promise<UpstreamAnswer<B>>
}

/** What a shell does next. */
export type Reply<B> =
  | { readonly kind: 'answer'; readonly answer: Answer; readonly turn?: TurnReport }
  | {
      readonly kind: 'relay'
      readonly from: UpstreamAnswer<B>
      /** Added to the upstream's own headers. */
      readonly headers: Readonly<Record<string, string>>
      /** Replaces the body when it had to be read already. */
      readonly body?: Uint8Array
      /** That body is recorded. Nobody at a socket need wait for it; a program that may end at once should. */
      readonly settled?: Promise<void>
      readonly tap?: Tap<B>
      readonly turn?: TurnReport
    }

/** `now`: the request that goes on needs it. `behind`: the client has its answer first. */
export type When = 'now' | 'behind'

/** Reads an answer while its bytes pass by. Never throws. */
export interface Tap<B> {
  /** What passes may have another length than what came. */
  readonly rewrites?: true
  /** What passes on to the client: the same bytes, unless a hidden step is cut out. */
  chunk(bytes: Uint8Array): Uint8Array | undefined
  /** The answer is complete, or was cut off: what arrived is recorded. */
  end(complete: boolean): Promise<TapEnd<B>>
  /** The client has left while `end` was at work: nothing further is asked for it. */
  cancel?(): void
}

export interface TapEnd<B> {
  readonly bytes?: Uint8Array
  /** The stream goes on with this answer, after a hidden step. */
  readonly next?: UpstreamAnswer<B>
  /** The answer is recorded. A socket's client need not wait for it; a program that may end at once should. */
  readonly settled?: Promise<void>
}

/** What a log line may say about a managed request. */
export interface TurnReport {
  readonly session: string
  readonly agent: string
  readonly prepared: PreparedTurn
  /** The first answer was an overflow; the client saw the second one. */
  readonly recovered: boolean
  readonly upstream: Upstream
}
