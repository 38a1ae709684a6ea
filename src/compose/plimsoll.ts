import type { EventSink, PlimsollEvent } from '../core/events.ts'
import { createSession, type SessionOptions, type GatewaySession } from '../engine/session/session.ts'
import { importStore } from '../engine/store-admin/store-export.ts'
import type { Plimsoll, PlimsollOptions } from '../options.ts'
import { checkedPlimsoll, checkedSession, checkOptions } from './api/checked.ts'
import { layFoundation } from './open/foundation.ts'
import { liveSettings } from './live/settings.ts'
import { openEngine } from './open/engine.ts'
import { openGateway } from './open/gateway.ts'
import { openModels, openTokenizers } from './open/models.ts'
import { openReaders } from './open/readers.ts'
import { openSessions } from './cache-sizes.ts'
import { readerToolsOf } from './api/reader-tools.ts'
import { storedApi } from './api/stored.ts'

export { defaultStore, findSecret, plimsollHome } from './home.ts'
export type { LiveOptions, Plimsoll, PlimsollOptions } from '../options.ts'

/** Creates the engine. Parts are opened on first use; `close` closes all of them. */
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
      // Sessions are rebuilt from their logs under the new settings; a session that a program holds follows with its next call.
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
      // Everything is closed, even when one of the parts fails to close.
      for (const close of [engine.saveLearned, readers.close, engine.close, ...foundation.closings])
        await Promise.resolve(close()).catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
    },
    [Symbol.asyncDispose]: () => plimsoll.close(),
  }
  return checkedPlimsoll(plimsoll)
}
