import type { LearnedLimits } from './engine/learning/learned-limits.ts'
import type { Archive, Artifacts } from './compose/api/stored.ts'
import type { ReaderToolOptions, ReaderTools, ToolFormat } from './compose/api/reader-tools.ts'
import type { EventSink, PlimsollEvent } from './core/events.ts'
import type { Session as EngineSession, SessionOptions } from './engine/session/session.ts'
import type { WireFormat } from './formats/registry.ts'
import type { ImportReport } from './engine/store-admin/store-export.ts'
import type { Fetch } from './gateway/fetch.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { Ledger } from './gateway/operate/ledger.ts'
import type { Sidecar } from './gateway/operate/sidecar.ts'
import type { GATEWAY, LIBRARY, LiveIn, OptionsOf } from './settings/settings.ts'

export type { PolicyName } from './settings/settings.ts'

/** An API format. Editors complete the built-in names. */
export type FormatName = WireFormat | (string & Record<never, never>)

export type Session = EngineSession<FormatName>

/** Options of the engine. */
export type LibraryOptions = OptionsOf<typeof LIBRARY>

/** Options of requests through `plimsoll.fetch`, the gateway and the proxy. */
export type GatewayOptions = OptionsOf<typeof GATEWAY>

/** The events of one type. */
export type EventOf<T extends PlimsollEvent['type']> = Extract<PlimsollEvent, { readonly type: T }>

/** Each option is listed in the [configuration reference](configuration.md#options-in-code). */
export interface PlimsollOptions extends LibraryOptions, GatewayOptions {}

/** The options that can change while requests are running. Stores, secret and clock cannot. */
export type LiveOptions = Pick<PlimsollOptions, LiveIn<typeof LIBRARY> | LiveIn<typeof GATEWAY>>

export interface Plimsoll {
  /** A `fetch` for any SDK that accepts one. */
  readonly fetch: Fetch
  /** A session for your own agent loop. */
  session(options: SessionOptions): Session
  /** Reads what `session.export()` wrote. An existing session gets only the entries that it lacks. */
  importSession(lines: AsyncIterable<string> | Iterable<string>, options?: { tenant?: string }): Promise<ImportReport>
  readonly artifacts: Artifacts
  /** `recall` and the artifact readers as tools for your own agent loop: declarations in a format, and a function that answers calls. */
  tools<F extends ToolFormat>(session: Session, format: F, options?: ReaderToolOptions): ReaderTools<F>
  /** Stored sessions: their logs, and reader tools over them. */
  readonly archive: Archive
  /** The handler behind `fetch` and the proxy. */
  readonly gateway: Gateway
  /** The engine as a compressor for other gateways, by their contract. */
  readonly sidecar: Sidecar
  /** Learned windows and body sizes of endpoints; they can be listed and forgotten. */
  readonly limits: Pick<LearnedLimits, 'list' | 'forget'>
  /** Spending by call, agent, session, key and tenant, and the status of this process's sessions. */
  readonly ledger: Ledger
  /**
   * Replaces the settings for later requests; an option that is left out gets its default. Running requests keep the old settings, and sessions
   * continue from their log.
   */
  reconfigure(options: LiveOptions): void
  /** Whether the store answers. */
  isReady(): Promise<boolean>
  /** Calls a listener for all events or for one type. Returns a function that removes it. */
  on(listener: EventSink): () => void
  on<T extends PlimsollEvent['type']>(type: T, listener: (event: EventOf<T>) => void): () => void
  close(): Promise<void>
  /** Closes at the end of a block: `await using plimsoll = createPlimsoll()`. */
  [Symbol.asyncDispose](): Promise<void>
}
