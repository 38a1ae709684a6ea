import type { LearnedLimits } from './engine/learning/learned-limits.ts'
import type { Archive } from './compose/api/archive.ts'
import type { Artifacts } from './compose/api/artifacts.ts'
import type { ReaderToolOptions, ReaderTools, ToolFormat } from './compose/api/reader-tools.ts'
import type { EventSink } from './core/events.ts'
import type { Policy } from './core/policy.ts'
import type { ModelOverride } from './drivers/catalogue/amended.ts'
import type { LogLevel } from './core/log-level.ts'
import type { SummarizerChoice } from './drivers/open-summarizer.ts'
import type { CountTokens } from './engine/deps.ts'
import type { Hooks } from './engine/hooks.ts'
import type { ToolSummary } from './engine/intake/index.ts'
import type { RedactionOptions } from './engine/redaction/redactor.ts'
import type { Session as EngineSession, SessionOptions } from './engine/session/session.ts'
import type { WireFormat } from './formats/wires.ts'
import type { PresetName } from './engine/presets/index.ts'
import type { ImportReport } from './engine/store-admin/store-import.ts'
import type { Budget } from './meter/index.ts'
import type { ArtifactStore } from './ports/artifact-store.ts'
import type { Catalogue } from './ports/catalogue.ts'
import type { Clock } from './ports/clock.ts'
import type { Sandbox } from './ports/sandbox.ts'
import type { SessionStore } from './ports/session-store.ts'
import type { SqlEngine } from './ports/sql-engine.ts'
import type { Fetch } from './gateway/fetch.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { Ledger } from './gateway/operate/ledger.ts'
import type { Sidecar } from './gateway/operate/sidecar.ts'

/** An API format. The names of those that ship complete in an editor. */
export type FormatName = WireFormat | (string & Record<never, never>)

export type Session = EngineSession<FormatName>

/** A preset's name, or the name of a policy of your own. */
export type PolicyName = PresetName | (string & Record<never, never>)

export interface PlimsollOptions {
  /** @internal Memory of earlier work changes no byte; `false` works everything out anew, to prove it. @default true */
  readonly memo?: boolean
  /** A preset's name or a policy of your own. @default 'plimsoll' */
  readonly policy?: PolicyName | Policy
  /** Policies of your own by the name that a request may ask for, beside the presets. */
  readonly policies?: Readonly<Record<string, Policy>>
  /** A driver or a URL: `memory:`, `sqlite:./plimsoll.db`. @default a file in the home directory */
  readonly store?: string | SessionStore
  /** A driver or a URL: `memory:`, `file:./artifacts`. @default beside the store */
  readonly artifacts?: string | ArtifactStore
  /** Keys handles and tenants. @default PLIMSOLL_SECRET, else one that the store keeps */
  readonly secret?: Uint8Array
  /** Overrides the model's window, in tokens. */
  readonly window?: number
  /** Limits on spending; over one, a closing answer and then none. */
  readonly budgets?: readonly Budget[]
  /** By agent name, what differs from the rest. */
  readonly agents?: Readonly<Record<string, AgentOptions>>
  /** Writes summaries: a driver, a model behind HTTP, a function from prompt to text, or `mechanical` for none. @default 'mechanical' */
  readonly summarizer?: SummarizerChoice
  /** The model that reads artifacts for `artifact_extract`, in the same forms. @default the summarizer */
  readonly extraction?: SummarizerChoice
  /** Answers `artifact_query`; false for none. @default sql.js, where that optional package is installed */
  readonly sql?: SqlEngine | false
  /** Runs the code of `artifact_run`; false for none. @default QuickJS, where the optional package quickjs-wasi is installed */
  readonly sandbox?: Sandbox | false
  /** One sentence about a tool's result, by tool name, for views and notices. Eight tools of AutoSRE are known. */
  readonly toolSummaries?: Readonly<Record<string, ToolSummary>>
  /** Code of yours at the engine's decisions: after a tool result, before and after an epoch, at each verdict. */
  readonly hooks?: Hooks
  /** Ends each request with a line that tells the model how full its window is; the cached prefix stays as it is. @default false */
  readonly contextNotice?: boolean
  /**
   * Sets cache marks on wires that have them (Anthropic) where the client set none. Off, an untouched request leaves as the bytes
   * that came in. @default false
   */
  readonly cacheMarks?: boolean
  /**
   * Takes secrets out of archive, artifacts and summaries, by value from the environment and by form. What is stored is then no longer
   * byte-exact where a secret stood. @default false
   */
  readonly redact?: boolean | RedactionOptions
  /**
   * Counts with the model's own vocabulary where one is installed: exact, at the price of loading it. True: always. False: never.
   * @default where an estimate cannot say on which side of high water a request stands
   */
  readonly exactTokens?: boolean
  /** Asks the provider's count endpoint where an estimate cannot decide and there is no exact tokenizer. @default nobody is asked */
  readonly countTokens?: CountTokens
  readonly catalogue?: Catalogue
  /** Your own word on models, over the catalogue: windows, output caps, tokenizers, prices. */
  readonly models?: Readonly<Record<string, ModelOverride>>
  readonly clock?: Clock
  readonly onEvent?: EventSink
  /**
   * Writes events from this level on as JSON lines to standard error: `debug`, `info`, `warning` or `error`.
   * @default PLIMSOLL_LOG_LEVEL, else none
   */
  readonly logLevel?: LogLevel
  /**
   * Spans and metrics for the OpenTelemetry SDK that the program has registered; without one nothing is loaded. False: never.
   * @default true
   */
  readonly telemetry?: boolean
  /** Appends the log lines of the preset's own design to this file. @default none */
  readonly logFile?: string
  /** Requests of agents with tools get `recall` and the readers of artifacts, answered by the gateway. @default true */
  readonly tools?: boolean
  /** Reports what it would do and changes nothing. @default false */
  readonly observe?: boolean
  /** Largest request body that the gateway takes, unpacked. @default 64 MiB */
  readonly maxBodyBytes?: number
  /**
   * Bytes that all caches of this process together may hold. Less of it costs time, never a byte: what was forgotten is read or worked out
   * again. @default each cache has a bound of its own, about 150 MB together and more for few large conversations
   */
  readonly memoryBytes?: number
  /**
   * Whose content a request is: `credential`, one tenant per credential; `one`, a single tenant, for a person or team whose tokens are
   * renewed; `header:<name>`, what that header says, where only a gateway that sets it can call. @default 'credential'
   */
  readonly tenants?: string
  /** What `plimsoll.fetch` calls. @default the global fetch */
  readonly fetch?: Fetch
}

/** What may change while requests are under way. Stores, secret and clock may not. */
export type LiveOptions = Pick<
  PlimsollOptions,
  'policy' | 'policies' | 'agents' | 'window' | 'budgets' | 'tools' | 'observe' | 'maxBodyBytes' | 'tenants'
>

export interface AgentOptions {
  readonly policy?: PolicyName | Policy
  /** Where a request's target names none. */
  readonly window?: number
}

export interface Plimsoll {
  /** For any SDK that takes a `fetch`. */
  readonly fetch: Fetch
  /** The three verbs, for an agent loop of your own. */
  session(options: SessionOptions): Session
  /** Reads what `session.export()` wrote. A session that is there already gets only what it lacks. */
  importSession(lines: AsyncIterable<string> | Iterable<string>, options?: { tenant?: string }): Promise<ImportReport>
  readonly artifacts: Artifacts
  /** `recall` and the readers of artifacts as tools for an agent loop of your own: declarations in the shape that you name, and what answers calls. */
  tools<F extends ToolFormat>(session: Session, format: F, options?: ReaderToolOptions): ReaderTools<F>
  /** What sessions left behind: their logs, and reader tools over them. */
  readonly archive: Archive
  /** The handler behind `fetch` and the proxy. */
  readonly gateway: Gateway
  /** The same engine behind the contract by which other gateways call a compressor. */
  readonly sidecar: Sidecar
  /** Windows and body sizes that endpoints taught: listed, and forgotten on request. */
  readonly limits: Pick<LearnedLimits, 'list' | 'forget'>
  /** What was spent, by call, agent, session, key and tenant; and how the sessions of this process stand. */
  readonly ledger: Ledger
  /**
   * Other settings for the requests to come; what is left out is as if it had never been set. Requests under way end as they began, and
   * sessions go on from their log.
   */
  reconfigure(options: LiveOptions): void
  /** Whether the store answers. */
  isReady(): Promise<boolean>
  on(listener: EventSink): () => void
  close(): Promise<void>
}
