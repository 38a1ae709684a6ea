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

/** An API format. The names of those that ship complete in an editor. */
export type FormatName = WireFormat | (string & Record<never, never>)

export type Session = EngineSession<FormatName>

/** What the engine takes, whatever stands in front of it. */
export type LibraryOptions = OptionsOf<typeof LIBRARY>

/** What only requests through `plimsoll.fetch`, the gateway and the proxy read. */
export type GatewayOptions = OptionsOf<typeof GATEWAY>

/** The event of one type. */
export type EventOf<T extends PlimsollEvent['type']> = Extract<PlimsollEvent, { readonly type: T }>

/** Each option is listed in the [configuration reference](configuration.md#options-in-code). */
export interface PlimsollOptions extends LibraryOptions, GatewayOptions {}

/** What may change while requests are under way. Stores, secret and clock may not. */
export type LiveOptions = Pick<PlimsollOptions, LiveIn<typeof LIBRARY> | LiveIn<typeof GATEWAY>>

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
  /** Tells a listener every event, or those of one type. Calling what it gives back ends that. */
  on(listener: EventSink): () => void
  on<T extends PlimsollEvent['type']>(type: T, listener: (event: EventOf<T>) => void): () => void
  close(): Promise<void>
  /** The same at the end of a block: `await using plimsoll = createPlimsoll()`. */
  [Symbol.asyncDispose](): Promise<void>
}
