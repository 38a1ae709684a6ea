import type { ErrorCode } from './errors.ts'
import type { RecordRecall, UsageSeen } from './records.ts'
import type { Verdict } from './target.ts'
import type { Usage } from './usage.ts'

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

/** What each event says, in one sentence: the documentation is written from here. An event without a sentence does not compile. */
export const EVENT_MEANINGS: Readonly<Record<EventBody['type'], string>> = {
  'request-prepared':
    'A request was measured and decided about. `load` is the upper bound of its tokens, `limit` is what fits.',
  'request-forwarded': 'The upstream answered a request, with this status and after this time.',
  'item-offloaded': 'Something was stored under a handle, and the request shows a shorter text in its place.',
  'epoch-declared':
    'A compaction happened: `covered` items were replaced, and the load went from `before` to `after` tokens.',
  'epoch-deferred': 'A compaction was considered and left undone, because it would cost more than it saves.',
  'epoch-reanchored': 'The client changed the history slightly; the compaction was found to apply to it still.',
  'epoch-orphaned':
    'The history that a compaction covers is gone (a rewind, an edit, a fork), so it no longer applies.',
  'epoch-undone': 'A compaction was taken back with `undo`.',
  'call-unanswered': 'The history holds a tool call without a result; a compaction worked around it.',
  'prefix-broken':
    'The client changed a part of the history that it had sent before, from item `atItem` (counted from 0) on. The request goes out as changed; from there on the prompt cache of the provider does not hit.',
  'usage-recorded': 'The provider reported usage for a call; `costUsd` is set where the price is known.',
  'usage-missing': 'A call ended without usage, so its tokens are known by estimate only.',
  'call-refused':
    'A model call has no answer: the provider refused it or never answered (`status` where it said one), or Plimsoll did not send it (`code`).',
  'calibration-drifted': 'A model counts differently from before; older samples of it were dropped.',
  'window-learned': 'An upstream showed what its context window is, and requests are kept within it.',
  'overflow-recovered': 'The upstream refused a request as too long; it was reduced, sent again and answered.',
  'verdict-given':
    'A request was not simply sent: another target was taken (`skip`), a last answer asked for (`final`), or a budget stopped it (`halt`).',
  'compaction-needed': 'The load passed the threshold at which compaction starts.',
  'output-lowered': 'The output cap of a request was lowered so that the prompt fits beside it.',
  'context-warning': 'The load passed the share of the limit at which the policy warns.',
  'budget-reached': 'A budget passed the share at which it warns, or its end.',
  'summary-rejected':
    'What a model wrote as a summary was not used, for this reason; the summary written by code stands.',
  degraded: 'A part does not work (the store, the summarizer, events of other proxies), and requests go on without it.',
  warning: 'Something that somebody should know about; `topic` says what it concerns.',
}

/** How much an event matters to whoever runs the process, the least first. */
export const LOG_LEVELS = ['debug', 'info', 'warning', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
