import type { ErrorCode } from './errors.ts'
import type { RecordRecall, UsageSeen } from './records.ts'
import type { Usage } from './usage.ts'
import type { Verdict } from './target.ts'

/** One typed event per decision; logs, metrics, the CLI and the dashboard read nothing else. */
export type PlimsollEvent = EventBody & {
  readonly at: number
  readonly tenant: string
  readonly session: string
  readonly agent?: string
  readonly turn?: string
}

export type EventBody =
  | {
      readonly type: 'request-prepared'
      /** By which the answer is recorded. */
      readonly turn: string
      /** Id of the API format. */
      readonly format: string
      readonly model: string
      readonly load: number
      /** The load with everything that the client sent, nothing taken out. */
      readonly original: number
      readonly limit: number
      readonly bytes: number
      readonly verdict: Verdict['kind']
      readonly edits: number
      readonly tight: boolean
    }
  | { readonly type: 'request-forwarded'; readonly status: number; readonly durationMs: number }
  | {
      readonly type: 'item-offloaded'
      readonly handle: string
      readonly originalBytes: number
      readonly shownBytes: number
      readonly reason: string
    }
  | {
      readonly type: 'epoch-declared'
      readonly epoch: string
      readonly forced: boolean
      readonly reason: string
      readonly before: number
      readonly after: number
      readonly covered: number
      /** What the view still says of what the epoch took out. */
      readonly recall?: RecordRecall
      /** Where a price decided: input of the next calls with and without this epoch. */
      readonly price?: EpochPrice
    }
  | ({ readonly type: 'epoch-deferred' } & EpochPrice)
  | { readonly type: 'epoch-reanchored'; readonly epoch: string; readonly matched: number }
  | { readonly type: 'epoch-orphaned'; readonly epoch: string; readonly matched: number }
  | { readonly type: 'epoch-undone'; readonly epoch: string }
  /** A call that later steps have left behind without an answer; an epoch worked around it. */
  | { readonly type: 'call-unanswered'; readonly callId?: string; readonly tool?: string; readonly item: string }
  /** What an epoch rewrites is told by `epoch-declared`. */
  | { readonly type: 'prefix-broken'; readonly by: 'client'; readonly atItem: number }
  | ({ readonly type: 'usage-recorded'; readonly usage: Usage; readonly costUsd?: number } & CallFacts)
  | ({ readonly type: 'usage-missing' } & CallFacts)
  /** A model call without an answer. */
  | ({
      readonly type: 'call-refused'
      readonly by: 'provider' | 'plimsoll'
      /** What the provider answered with, where it did. */
      readonly status?: number
      /** Why it was not sent: the code of the error that the caller got. */
      readonly code?: ErrorCode
    } & CallFacts)
  | { readonly type: 'calibration-drifted'; readonly model: string; readonly from: number; readonly to: number }
  | { readonly type: 'window-learned'; readonly model: string; readonly window: number; readonly source: string }
  | { readonly type: 'overflow-recovered'; readonly window?: number }
  | { readonly type: 'verdict-given'; readonly verdict: Verdict }
  | { readonly type: 'compaction-needed'; readonly load: number; readonly threshold: number }
  | { readonly type: 'output-lowered'; readonly asked: number; readonly to: number }
  | { readonly type: 'context-warning'; readonly load: number; readonly limit: number }
  | { readonly type: 'budget-reached'; readonly budget: string; readonly used: number; readonly of: number }
  | { readonly type: 'summary-rejected'; readonly reason: string }
  | { readonly type: 'degraded'; readonly what: string; readonly cause: string }
  | {
      readonly type: 'warning'
      readonly topic: string
      readonly message: string
      /** Of a log line that its design writes with a level. @default 'warning' */
      readonly level?: 'info' | 'warning' | 'error'
    }

/** What is known about a call beside its usage. */
export interface CallFacts {
  readonly purpose: UsageSeen['purpose']
  readonly model: string
  readonly durationMs?: number
  /** Keyed hash of the API key that paid; absent where it is the tenant. */
  readonly key?: string
}

export interface EpochPrice {
  readonly expectedCalls: number
  readonly keepUsd: number
  readonly epochUsd: number
}

export type EventOf<T extends PlimsollEvent['type']> = Extract<PlimsollEvent, { type: T }>

export type EventSink = (event: PlimsollEvent) => void
