import type { EventSink, PlimsollEvent } from './core/events.ts'
import type { AskedPolicy } from './core/policy.ts'
import {
  createSession,
  type GatewaySession,
  type Session as EngineSession,
  type SessionOptions,
} from './engine/session/session.ts'
import { importStore } from './engine/store-admin/store-export.ts'
import { checkedPlimsoll, checkedSession, checkOptions } from './compose/api/checked.ts'
import { openFoundation } from './compose/open/foundation.ts'
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
import { tellUnknownVariables } from './settings/variables.ts'
import { once } from './util/once.ts'
export { defaultStore, findSecret, plimsollHome } from './compose/home.ts'
export type { LiveOptions, PlimsollOptions } from './settings/options.ts'

/** An API format. Editors complete the built-in names. */
export type FormatName = WireFormat | (string & Record<never, never>)

export type Session = EngineSession<FormatName>

/** The events of one type. */
export type EventOf<T extends PlimsollEvent['type']> = Extract<PlimsollEvent, { readonly type: T }>

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
  /** Whether the store can be written, its artifacts included. Rejects with what it says when it cannot. */
  isReady(): Promise<boolean>
  /** Calls a listener for all events or for one type. Returns a function that removes it. */
  on(listener: EventSink): () => void
  on<T extends PlimsollEvent['type']>(type: T, listener: (event: EventOf<T>) => void): () => void
  close(): Promise<void>
  /** Closes at the end of a block: `await using plimsoll = createPlimsoll()`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** Creates the engine. Parts are opened on first use; `close` closes all of them. */
export function createPlimsoll(options: PlimsollOptions = {}): Plimsoll {
  tellUnknownVariables()
  return compose(checkOptions(options))
}

function compose(options: PlimsollOptions): Plimsoll {
  const foundation = openFoundation(options)
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
  const session = (
    wanted: SessionOptions,
    asked: AskedPolicy | undefined,
    bytes: number | undefined,
  ): GatewaySession => {
    const { tenant = 'local', id, agent = 'main' } = wanted
    const key = JSON.stringify([tenant, id, agent, asked?.policy ?? '', asked?.aim ?? '', wanted.key ?? ''])
    const found = open.get(key) ?? createSession(live.depsFor(agent, asked), wanted)
    if (bytes !== undefined) open.keep(key, found, bytes)
    return found
  }
  const gateway = openGateway(options, { foundation, models, engine, readers, live, session })
  const warnOnce = once(async () => void foundation.on(storeWarnings()))
  const plimsoll: Plimsoll = {
    ...gateway,
    fetch: (input, init) => {
      void warnOnce()
      return gateway.fetch(input, init)
    },
    session(wanted) {
      void warnOnce()
      return checkedSession(wanted, (one) => session(one, undefined, 0))
    },
    tools: (of, format, { window } = {}) =>
      readerToolsOf(readers, of, format, window ?? live.windowOf(of.agent) ?? Infinity),
    importSession: async (lines, { tenant = 'local' } = {}) =>
      importStore(content, lines, { tenant, artifacts: await engine.artifacts() }),
    ledger,
    reconfigure(next) {
      live.change(next)
      // Sessions are rebuilt from their logs under the new settings; a session that a program holds follows with its next call.
      open.clear()
    },
    isReady: engine.isReady,
    ...storedApi(content, engine, readers),
    on: (given: EventSink | PlimsollEvent['type'], listener?: (event: never) => void) =>
      foundation.on(
        typeof given === 'function' ? given : (event) => void (event.type === given && listener!(event as never)),
      ),
    async close() {
      const unwritten = await engine.flush()
      open.clear()
      const failures: unknown[] = unwritten === undefined ? [] : [unwritten]
      // Everything is closed, even when one of the parts fails to close.
      for (const close of [engine.saveLearned, readers.close, engine.close, ...foundation.closings])
        await Promise.resolve(close()).catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
    [Symbol.asyncDispose]: () => plimsoll.close(),
  }
  return checkedPlimsoll(plimsoll)
}

const CONSEQUENCES: Readonly<Record<string, string>> = {
  gateway: 'Requests pass unchanged and unrecorded (x-plimsoll-verdict: bypassed).',
  'session store': 'Requests go on from memory until it works.',
  'artifact store': 'What is taken out of requests is kept in memory until it works.',
}

/** A program may have no listener: the first failure of each part is a process warning as well. */
function storeWarnings(): EventSink {
  const told = new Set<string>()
  return (event) => {
    if (event.type !== 'degraded' || told.has(event.what)) return
    const consequence = CONSEQUENCES[event.what]
    if (consequence === undefined) return
    told.add(event.what)
    process.emitWarning(`Plimsoll: ${event.cause} ${consequence}`, { type: 'PlimsollWarning', code: 'STORE_UNUSABLE' })
  }
}
