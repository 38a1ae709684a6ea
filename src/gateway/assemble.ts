import type { AskedPolicy } from '../core/policy.ts'
import cluster from 'node:cluster'
import { knownValues } from '../drivers/sessions/known-values.ts'
import { learnedLimits } from '../engine/learning/learned-limits.ts'
import type { SessionOptions, GatewaySession } from '../engine/session/session.ts'
import type { PlimsollOptions } from '../settings/options.ts'
import { createConversations } from './conversations.ts'
import { createFetch } from './fetch.ts'
import { createGateway } from './gateway.ts'
import { stepReader, hiddenSteps } from './hidden/session.ts'
import { cacheSizes } from '../compose/cache-sizes.ts'
import { Quotas } from './operate/quotas.ts'
import { createSidecar } from './operate/sidecar.ts'
import { providerHistories } from './provider-histories.ts'
import { responseSessions } from './identity.ts'
import type { Foundation } from '../compose/open/foundation.ts'
import type { LiveSettings } from '../compose/live/settings.ts'
import type { OpenEngine } from '../compose/open/engine.ts'
import type { OpenModels } from '../compose/open/models.ts'
import type { OpenReaders } from '../compose/open/readers.ts'

export interface GatewayParts {
  readonly foundation: Foundation
  readonly models: OpenModels
  readonly engine: OpenEngine
  readonly readers: OpenReaders
  readonly live: LiveSettings
  /** `bytes`: the session's approximate size; undefined to read it without keeping it open. */
  readonly session: (
    wanted: SessionOptions,
    asked: AskedPolicy | undefined,
    bytes: number | undefined,
  ) => GatewaySession
}

/** The handler of `fetch` and the proxy, and the sidecar for other gateways. */
export function openGateway(options: PlimsollOptions, parts: GatewayParts) {
  const { foundation, models, engine, readers, live, session } = parts
  const { sessions, content, clock, hash, memo, ledger, emit } = foundation
  // In a program's own cluster, processes share conversations on SQLite as machines do on Postgres.
  const isShared = sessions.isShared === true || cluster.isWorker
  const values = knownValues(sessions)
  const contentValues = content === sessions ? values : knownValues(content)
  const learned = learnedLimits(values, clock)
  const gateway = createGateway({
    secret: engine.secret,
    chain: memo.chain,
    bodies: memo.bodies,
    session,
    learned,
    quotas: new Quotas(values, clock),
    responses: responseSessions(values),
    histories: providerHistories(contentValues),
    conversations: createConversations({ store: { ...sessions, ...values }, hash, isShared }),
    ledger,
    clock,
    emit,
    hidden: {
      steps: hiddenSteps(contentValues),
      reader: stepReader(cacheSizes(options.memoryBytes).steps),
      tools: {
        readers: readers.of,
        names: (model = 'unknown') =>
          readers.names(live.options().window ?? models.catalogue().resolve(model).info.window),
      },
    },
    isShared,
    settings: live.options,
  })
  return {
    fetch: createFetch(gateway, options.fetch ?? ((input, init) => globalThis.fetch(input, init))),
    gateway,
    limits: learned,
    sidecar: createSidecar({
      tenantOf: (header, path) => gateway.tenantOf(header, path),
      session: (wanted) => session(wanted, undefined, 0),
      read: async (tenant, handle) => (await engine.artifacts()).read(tenant, handle),
      has: async (tenant, handle) => (await (await engine.artifacts()).stat(tenant, handle)) !== undefined,
      values: sessions,
      window: () => live.options().window,
    }),
  }
}
