import type { CacheSeen, MissCause } from './cache.ts'
import type { ErrorCode } from './errors.ts'
import type { Receipt, RecordRecall, UsageSeen } from './records.ts'
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
      /** The turn's id; `record` takes it. */
      readonly turn: string
      /** Id of the API format. */
      readonly format: string
      readonly model: string
      readonly load: number
      /** The load of everything that the client sent, before any edit. */
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
      /** The share of the removed content that the view still contains. */
      readonly recall?: RecordRecall
      /** What became of what was taken out, counted by kind. */
      readonly receipt?: Receipt
      /** When the price decided: the input cost of the next calls with and without this epoch. */
      readonly price?: EpochPrice
    }
  | {
      readonly type: 'fetched-again'
      readonly epoch: string
      /** The same call once more, or a tool of ours. */
      readonly by: 'call' | 'reader'
      readonly tool?: string
      readonly tokens: number
      /** At the price of input; absent where it is not known. */
      readonly costUsd?: number
    }
  | ({ readonly type: 'epoch-deferred' } & EpochPrice)
  | { readonly type: 'epoch-reanchored'; readonly epoch: string; readonly matched: number }
  | { readonly type: 'epoch-orphaned'; readonly epoch: string; readonly matched: number }
  | { readonly type: 'epoch-undone'; readonly epoch: string }
  /** A tool call that never got a result; an epoch worked around it. */
  | { readonly type: 'call-unanswered'; readonly callId?: string; readonly tool?: string; readonly item: string }
  /** Only for changes by the client; `epoch-declared` tells of rewrites by an epoch. */
  | { readonly type: 'prefix-broken'; readonly by: 'client'; readonly atItem: number }
  | ({
      readonly type: 'usage-recorded'
      readonly usage: Usage
      readonly costUsd?: number
      /** What the call cost less for us, and the tokens that the client sent and we did not. */
      readonly savedUsd?: number
      readonly removed?: number
      readonly cache?: Omit<CacheSeen, 'miss'>
    } & CallFacts)
  | {
      readonly type: 'cache-missed'
      readonly model: string
      readonly cause: MissCause
      readonly tokens: number
      readonly usd?: number
      readonly ageSeconds: number
      /** Where the request differs from the one before; the log has a little of both. */
      readonly path?: string
      readonly epoch?: string
      /** What the provider itself says was the reason. */
      readonly provider?: string
    }
  | {
      readonly type: 'quota-seen'
      /** Keyed hash of the API key or token. */
      readonly credential: string
      readonly window: string
      /** Share of the window; 1 is all of it. */
      readonly used: number
      readonly resetsAt?: number
    }
  | ({ readonly type: 'usage-missing' } & CallFacts)
  | ({
      readonly type: 'call-refused'
      readonly by: 'provider' | 'plimsoll'
      /** The HTTP status, if the provider answered. */
      readonly status?: number
      /** The code of the caller's error, when the call was not sent. */
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
      /** The level at which a preset's design logs this. @default 'warning' */
      readonly level?: 'info' | 'warning' | 'error'
    }

export interface CallFacts {
  readonly purpose: UsageSeen['purpose']
  readonly model: string
  readonly durationMs?: number
  /** Keyed hash of the API key that paid; absent when the tenant pays. */
  readonly key?: string
}

export interface EpochPrice {
  readonly expectedCalls: number
  readonly keepUsd: number
  readonly epochUsd: number
}

export type EventOf<T extends PlimsollEvent['type']> = Extract<PlimsollEvent, { type: T }>

export type EventSink = (event: PlimsollEvent) => void

/** What each event means, in one sentence; the documentation is generated from here. */
export const EVENT_MEANINGS: Readonly<Record<EventBody['type'], string>> = {
  'request-prepared':
    'A request is ready to be sent. `load` is the upper bound of its tokens, `limit` the most that fits.',
  'request-forwarded': 'The upstream answered a request; `status` and `durationMs` say how and after what time.',
  'item-offloaded': 'A tool result was stored under a handle, and the request contains a shorter text instead.',
  'epoch-declared':
    'A compaction happened: `covered` items were replaced, and the load went from `before` to `after` tokens.',
  'fetched-again':
    'Within 30 answers of a compaction, a call brought back what it had taken out: `tokens` of lines that stood in an earlier result.',
  'epoch-deferred': 'A compaction was considered and not done, because it would cost more than it saves.',
  'epoch-reanchored': 'The client changed the history slightly, and the compaction still applies.',
  'epoch-orphaned':
    'The history that a compaction covers is gone (a rewind, an edit, a fork), so it no longer applies.',
  'epoch-undone': 'A compaction was undone.',
  'call-unanswered': 'The history contains a tool call without a result; a compaction left it out.',
  'prefix-broken':
    'The client changed a part of the history that it had sent before, from item `atItem` (counted from 0) on. The request is sent as changed; from that item on the provider’s prompt cache does not hit.',
  'usage-recorded': 'The provider reported usage for a call; `costUsd` is set where the price is known.',
  'cache-missed':
    'A call read fewer tokens from the provider’s cache than it could have: `cause` says why, `tokens` and `usd` what it cost.',
  'quota-seen':
    'An answer said how much of a rate limit or subscription window its credential has used; told when it changed by a hundredth.',
  'usage-missing': 'A call ended without usage, so its tokens are known by estimate only.',
  'call-refused':
    'A model call failed: the provider refused it or did not answer (`status`, if there was one), or Plimsoll did not send it (`code`).',
  'calibration-drifted': 'The provider’s token counts for a model have changed; older samples were dropped.',
  'window-learned': 'An upstream’s context window was learned from its answers; requests are kept within it.',
  'overflow-recovered': 'The upstream refused a request as too long; it was reduced, sent again and answered.',
  'verdict-given':
    'A request was not sent as usual: another target was chosen (`skip`), a final answer was asked for (`final`), or a budget stopped it (`halt`).',
  'compaction-needed': 'The load passed the threshold at which compaction starts.',
  'output-lowered': 'The output cap of a request was lowered so that the prompt fits beside it.',
  'context-warning': 'The load passed the share of the limit at which the policy warns.',
  'budget-reached': 'A budget reached its warning share, or is used up.',
  'summary-rejected': 'A model’s summary was not used; `reason` says why. The summary written by code is used instead.',
  degraded:
    'A part failed (the store, the summarizer, events of other proxies); requests continue without it. `cause` says why.',
  warning: 'Something that an operator should look at; `message` says what, `topic` is its subject.',
}

/** How important an event is to an operator, least first. */
export const LOG_LEVELS = ['debug', 'info', 'warning', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
