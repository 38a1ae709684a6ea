import type { EventSink, PlimsollEvent } from './core/events.ts'
import {
  createSession,
  type GatewaySession,
  type Session as EngineSession,
  type SessionOptions,
} from './engine/session/session.ts'
import { importStore } from './engine/store-admin/store-export.ts'
import { checkedPlimsoll, checkedSession, checkOptions } from './compose/api/checked.ts'
import { layFoundation } from './compose/open/foundation.ts'
import { liveSettings } from './compose/live/settings.ts'
import { openEngine } from './compose/open/engine.ts'
import { openGateway } from './gateway/assemble.ts'
import { openModels, openTokenizers } from './compose/open/models.ts'
import { openReaders } from './compose/open/readers.ts'
import { openSessions } from './compose/cache-sizes.ts'
import { type Archive, type Artifacts, storedApi } from './compose/api/stored.ts'
import { readerToolsOf, type ReaderToolOptions, type ReaderTools, type ToolFormat } from './compose/api/reader-tools.ts'
import type { Ledger } from './compose/ledger.ts'
import type { LearnedLimits } from './engine/learning/learned-limits.ts'
import type { ImportReport } from './engine/store-admin/store-export.ts'
import type { WireFormat } from './formats/registry.ts'
import type { Fetch } from './gateway/fetch.ts'
import type { Gateway } from './gateway/gateway.ts'
import type { Sidecar } from './gateway/operate/sidecar.ts'
import type { LiveOptions, PlimsollOptions } from './settings/options.ts'
export { defaultStore, findSecret, plimsollHome } from './compose/home.ts'
export type { LiveOptions, PlimsollOptions } from './settings/options.ts'

/** An API format. The names of those that ship complete in an editor. */
export type FormatName = WireFormat | (string & Record<never, never>)

export type Session = EngineSession<FormatName>

/** The event of one type. */
export type EventOf<T extends PlimsollEvent['type']> = Extract<PlimsollEvent, { readonly type: T }>

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

/** Composes the parts. Nothing is opened before it is needed; `close` lets everything go. */
export function createPlimsoll(options: PlimsollOptions = {}): Plimsoll {
  return compose(checkOptions(options))
}

function compose(options: PlimsollOptions): Plimsoll {
  const foundation = layFoundation(options)
  const { clock, content, ledger, emit } = foundation
  const models = openModels(options)
  const tokenizers = openTokenizers(options, foundation)
  const engine = openEngine(options, foundation, models, tokenizers)
  const live = liveSettings(options, foundation, engine.deps, tokenizers)
  const readers = openReaders({
    deps: engine.deps,
    extraction: engine.extraction,
    canExtract: models.canExtract,
    sql: options.sql,
    sandbox: options.sandbox,
    emit: (body, { session: of = '', ...owner }) => emit({ ...body, ...owner, session: of, at: clock.now() }),
  })
  const open = openSessions(options.memoryBytes)
  const session = (wanted: SessionOptions, policy: string | undefined, bytes: number | undefined): GatewaySession => {
    const { tenant = 'local', id, agent = 'main' } = wanted
    const key = JSON.stringify([tenant, id, agent, policy ?? '', wanted.key ?? ''])
    const found = open.get(key) ?? createSession(live.depsFor(agent, policy), wanted)
    if (bytes !== undefined) open.keep(key, found, bytes)
    return found
  }
  const plimsoll: Plimsoll = {
    ...openGateway(options, { foundation, models, engine, readers, live, session }),
    session: (wanted) => checkedSession(wanted, (one) => session(one, undefined, 0)),
    tools: (of, format, { window } = {}) =>
      readerToolsOf(readers, of, format, window ?? live.windowOf(of.agent) ?? Infinity),
    importSession: async (lines, { tenant = 'local' } = {}) =>
      importStore(content, lines, { tenant, artifacts: await engine.artifacts() }),
    ledger,
    reconfigure(next) {
      live.change(next)
      // Each is rebuilt from its log under the new settings; one that somebody holds follows with its next call.
      open.clear()
    },
    isReady: async () => (await engine.secret()).length > 0 && (await foundation.isReady()),
    ...storedApi(content, engine, readers),
    on: (given: EventSink | PlimsollEvent['type'], listener?: (event: never) => void) =>
      foundation.on(
        typeof given === 'function' ? given : (event) => void (event.type === given && listener!(event as never)),
      ),
    async close() {
      const unwritten = await engine.flush()
      open.clear()
      const failures: unknown[] = unwritten === undefined ? [] : [unwritten]
      // Everything is let go, whatever fails on the way.
      for (const close of [engine.saveLearned, readers.close, engine.close, ...foundation.closings])
        await Promise.resolve(close()).catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
    [Symbol.asyncDispose]: () => plimsoll.close(),
  }
  return checkedPlimsoll(plimsoll)
}
