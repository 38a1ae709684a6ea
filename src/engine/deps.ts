import type { Codec } from '../core/codec.ts'
import type { RequestSettings } from '../core/conversation.ts'
import type { EventSink } from '../core/events.ts'
import type { Handle } from '../core/handles.ts'
import type { Hash } from '../core/identity.ts'
import type { BufferRule, Policy } from '../core/policy.ts'
import type { Limit, Target } from '../core/target.ts'
import type { Budget, CacheLives, DesignArithmetic, Ledger, Meter } from '../meter/index.ts'
import type { ArtifactMeta, ArtifactStore } from '../ports/artifact-store.ts'
import type { Catalogue } from '../ports/catalogue.ts'
import type { Clock } from '../ports/clock.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { Summarizer } from '../ports/summarizer.ts'
import type { BackgroundWork } from './session/background-work.ts'
import type { TenantCalibrations } from './learning/calibrations.ts'
import type { BudgetBook } from './spending/budget-book.ts'
import type { Hooks } from './hooks.ts'
import type { ShowReport } from './intake/types.ts'
import type { Memo } from './memo/memo.ts'
import type { Embed } from '../ports/embed.ts'
import type { Readers } from './readers/reader-tools.ts'
import type { ReaderProvenance } from './readers/reader.ts'
import { PlimsollError } from '../core/errors.ts'

/** Everything the engine is given; `compose/open/engine.ts` puts it together. */
export interface EngineDeps {
  readonly codecs: ReadonlyMap<string, Codec>
  readonly meter: EngineMeter
  readonly catalogue: Catalogue
  readonly sessions: SessionStore
  readonly artifacts: ArtifactStore
  /** The address that `artifacts.put` will give these bytes. */
  readonly addressOf: (tenant: string, bytes: Uint8Array) => Handle
  /** Where a stored output will also be a file; undefined where it will not. */
  readonly fileFor?: (folder: string, tool: string | undefined, handle: Handle) => string | undefined
  readonly present: Presenter
  /** The same for an output of any length, without holding up other requests. @default `present` */
  readonly presentLong?: (output: string, options: PresentOptions) => Promise<Presented>
  /** One sentence about a tool's result, by the same summaries as in its view. */
  readonly describeResult: (tool: string, response: unknown) => string
  /** Tells what a reader answered from what a tool wrote. */
  readonly provenance: ReaderProvenance
  readonly clock: Clock
  readonly hash: Hash
  readonly memo: Memo
  readonly emit: EventSink
  readonly policy: Policy
  /** Makes exact counts of a model ready before its first request is measured, so that every process counts alike. */
  readonly loadTokenizer?: (model: string) => Promise<void>
  /** Makes exact counts of a model ready where an estimate cannot decide; false when no vocabulary is installed. */
  readonly sharpen?: (model: string) => Promise<boolean>
  /** The provider's own count of a request, for the same place. Given only when the caller allows the call. */
  readonly countTokens?: CountTokens
  /** How long providers keep prompts, by what their answers show. */
  readonly cacheLives: CacheLives
  /** Learn from reported usage; absent, estimates stay as fitted. */
  readonly calibrations?: TenantCalibrations
  /** One for the whole installation; absent when nothing is limited. */
  readonly budgets?: BudgetBook
  /** What the policy limits beside it. */
  readonly policyBudgets?: readonly Budget[]
  /** Told of calls that a session's log holds from before this process. */
  readonly ledger?: Pick<Ledger, 'restore'>
  /** The name under which an API key may be written down. */
  readonly keyName?: (credential: string) => string
  readonly hooks?: Hooks
  /** Takes secrets out of what is summarised, previewed or stored. See `redaction/borders.ts`. */
  readonly redact?: (text: string) => string
  /** Cache marks are set where the client set none. @default false */
  readonly cacheMarks?: boolean
  /** Providers are asked why a prompt was not read from their cache. @default false */
  readonly cacheDiagnostics?: boolean
  /** False: nothing is recalled that was not asked for. */
  readonly autoRecall?: boolean
  /** Search by meaning beside words. Where it fails it gives nothing. */
  readonly embed?: Embed
  /** Writes summaries; without it code writes them. */
  readonly summarizer?: Summarizer
  /** Sessions that hold what a store which was away should have: each writes it, and says whether nothing is left. */
  readonly outboxes?: Set<() => Promise<boolean>>
  /** Where work goes on that no request waits for; without it there is none. */
  readonly background?: BackgroundWork
}

/** What the engine asks of the meter; `Meter` of `src/meter` with the limits of the catalogue beside it. */
export interface EngineMeter extends Meter {
  limitOf(target: Target, settings: RequestSettings, buffer: BufferRule): Limit
  /** A source design's own arithmetic, in place of measured prompt + estimate. */
  readonly design?: DesignArithmetic
}

/** Shows a long output under a token budget, with its size, what was left out and the handle. */
export type Presenter = (output: string | Uint8Array, options: PresentOptions) => Presented

export interface Presented {
  readonly text: string
  readonly report: ShowReport
  /** What the output is, to be stored beside its bytes. */
  readonly about: Pick<ArtifactMeta, 'mime' | 'encoding' | 'lines' | 'items' | 'contentKind' | 'file'>
}

export interface PresentOptions {
  readonly budgetTokens: number
  readonly countTokens: (text: string) => number
  readonly handle: Handle
  readonly tool?: string
  /** Where the output will also be a file, for agents that have only a shell. */
  readonly file?: string
  /** Tools in the request that can open a handle, by our name for them; empty when there are none. */
  readonly readers: Readers
  /** Milliseconds, for the report. */
  readonly now?: () => number
}

/** Asks a provider how many tokens a request has. Undefined when it does not say. */
export type CountTokens = (request: {
  readonly format: string
  readonly target: Target
  /** As it would be sent. */
  readonly body: string
}) => Promise<number | undefined>

/** @throws PlimsollError `unsupported` that lists the formats there are. */
export function codecFor(deps: EngineDeps, format: string): Codec {
  const codec = deps.codecs.get(format)
  if (codec !== undefined) return codec
  throw new PlimsollError('unsupported', `There is no codec for ${JSON.stringify(format)}.`, {
    advice: `Known formats: ${[...deps.codecs.keys()].join(', ')}.`,
  })
}
