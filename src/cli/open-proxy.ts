import { messageOf } from '../core/values.ts'
import { randomBytes } from 'node:crypto'
import type { EventBody, PlimsollEvent } from '../core/events.ts'
import { artifactsBeside, openArtifacts } from '../drivers/open-artifacts.ts'
import { liveEvents } from '../drivers/live-events.ts'
import { openStore, withoutPassword } from '../drivers/open-store.ts'
import { openDashboard, type DashboardOptions } from '../dashboard/open-dashboard.ts'
import type { DashboardInfo, PolicyRow } from '../dashboard/page-types.ts'
import { tenantsWithSessions } from '../dashboard/stored-sessions.ts'
import { runDemoSession } from './demo.ts'
import { budgetsOf } from '../settings/index.ts'
import { checkLiveOptions } from '../compose/named-policies.ts'
import { createPlimsoll, defaultStore, type LiveOptions, type Plimsoll, type PlimsollOptions } from '../plimsoll.ts'
import type { ProxyConfig } from '../settings/apply.ts'
import { knownModels } from './catalogue.ts'
import { collectSooner } from './heap-growth.ts'
import { createControl, createEventHub, type EventHub } from '../gateway/operate/control.ts'
import { createMetrics, type Metrics } from '../gateway/operate/metrics.ts'
import { startProxy, type Proxy, type ProxyLine, type ProxyOptions } from '../gateway/proxy.ts'
import { type Upstreams, GATEWAY, LIBRARY, PROXY, SETTINGS, those, type OptionsOf } from '../settings/settings.ts'

export interface OpenProxy {
  readonly proxy: Proxy
  readonly plimsoll: Plimsoll
  readonly hub: EventHub
  /** The page's URL, with a key that opens it for all tenants. */
  readonly pageUrl: string
  /** Applies the settings that can change while requests are running. Returns the names of those that need a restart. */
  readonly reload: (settings: ProxySettings) => readonly string[]
  readonly close: () => Promise<void>
}

export type ProxySettings = ProxyConfig &
  Pick<OptionsOf<typeof PROXY>, 'token' | 'operatorToken'> & { readonly upstreams: Upstreams }

const isLive = ([, { where }]: [string, (typeof SETTINGS)[keyof typeof SETTINGS]]): boolean =>
  'live' in where && where.live

/** Settings that need a restart: they belong to a socket, a file or a process that is already open. */
const FIXED = Object.entries(SETTINGS)
  .filter((entry) => !isLive(entry))
  .map(([name]) => name as keyof ProxySettings)

/** What the page shows about this proxy that only the command line knows. */
export interface PageTexts {
  /** Variables that point an agent at this address. */
  readonly connect?: (url: string) => DashboardInfo['connect']
  readonly settings?: () => readonly PolicyRow[]
}

/** A part of this process that does not work while requests go on. */
export type Trouble = Extract<PlimsollEvent, { readonly type: 'degraded' }>

/** Opens a proxy with its store, events, metrics and control routes. */
export async function openProxy(
  settings: ProxySettings,
  onRequest: (line: ProxyLine) => void,
  page: PageTexts = {},
  onTrouble: (trouble: Trouble) => void = () => undefined,
): Promise<OpenProxy> {
  collectSooner()
  const hub = createEventHub()
  const metrics = createMetrics()
  const count = (event: PlimsollEvent): void => {
    hub.take(event)
    metrics.take(event)
  }
  const report = (event: EventBody): void => count({ ...event, at: Date.now(), tenant: '', session: '' })
  const storeUrl = settings.store ?? defaultStore()
  const artifactsUrl = settings.artifacts ?? artifactsBeside(storeUrl)
  // A trial run with a random secret: a wrong address is reported before requests are served.
  await openArtifacts(artifactsUrl, { secret: randomBytes(32) }).close()
  const sessions = openStore(storeUrl)
  const catalogue = knownModels()
  const plimsoll = createPlimsoll({
    ...engineOptions(settings),
    store: sessions,
    artifacts: artifactsUrl,
    catalogue,
    onEvent(event) {
      count(event)
      if (event.type === 'degraded') onTrouble(event)
      others.publish(event)
    },
  })
  // Events of other proxies on the same store are shown on the page. They are not in our metrics, because each proxy is scraped.
  const others = liveEvents(
    sessions,
    (event) => {
      hub.take(event)
      plimsoll.ledger.take(event)
    },
    atMostOnceAMinute((error) =>
      report({
        type: 'degraded',
        what: 'events of other proxies',
        cause: messageOf(error),
      }),
    ),
  )
  const served = await serveWithPage(
    { hub, metrics },
    {
      plimsoll,
      sessions,
      catalogue,
      source: 'proxy',
      storeName: withoutPassword(storeUrl),
      connect: () => page.connect?.(served.proxy.url) ?? [],
      policy: async () => page.settings?.() ?? [],
      async demo() {
        void runDemoSession(plimsoll.gateway).catch(({ message }: Error) =>
          report({ type: 'warning', topic: 'demo', message }),
        )
      },
    },
    { ...those(PROXY, settings), upstreams: settings.upstreams, sidecar: plimsoll.sidecar, onRequest },
  )
  return {
    ...served,
    plimsoll,
    hub,
    reload(next) {
      // Whatever can fail comes first: a file that names a wrong host changes nothing.
      const live = liveOptions(next)
      checkLiveOptions(live)
      served.proxy.reload(next)
      plimsoll.reconfigure(live)
      return FIXED.filter((name) => JSON.stringify(next[name]) !== JSON.stringify(settings[name]))
    },
    close: () => closeAll([served.proxy, others, plimsoll]),
  }
}

/** Closes parts in this order. When one fails, the others are closed too, so that they write their data. */
async function closeAll(parts: readonly { close(): Promise<void> }[]): Promise<void> {
  const failures: unknown[] = []
  for (const part of parts) await part.close().catch((error: unknown) => failures.push(error))
  if (failures.length > 0) throw failures[0]
}

/** Serves an engine on a socket: agents' requests, the page, metrics, events and control routes. */
export async function serveWithPage(
  { hub, metrics = createMetrics() }: { readonly hub: EventHub; readonly metrics?: Metrics },
  page: DashboardOptions,
  options: ProxyOptions,
): Promise<{ readonly proxy: Proxy; readonly pageUrl: string }> {
  const { plimsoll, sessions } = page
  const { gateway, ledger } = plimsoll
  const pageToken = randomBytes(12).toString('base64url')
  const proxy = await startProxy(gateway, {
    ...options,
    control: createControl({
      hub,
      ledger,
      metrics,
      isReady: () => plimsoll.isReady(),
      tenantOf: (header, path) => gateway.tenantOf(header, path),
      storedTenants: () => tenantsWithSessions(sessions),
      pageToken,
      operatorToken: options.operatorToken,
    }),
    dashboard: openDashboard(page),
  })
  return { proxy, pageUrl: `${proxy.url}/t/${pageToken}/` }
}

const REPORT_EVERY_MS = 60_000

/** Limits a repeated error to one message a minute: an unreachable server is retried all the time. */
function atMostOnceAMinute(tell: (error: unknown) => void): (error: unknown) => void {
  let quietUntil = 0
  return (error) => {
    if (performance.now() < quietUntil) return
    quietUntil = performance.now() + REPORT_EVERY_MS
    tell(error)
  }
}

const ENGINE = { ...LIBRARY, ...GATEWAY }
const LIVE = Object.fromEntries(Object.entries(SETTINGS).filter(isLive))

/** The engine's and the gateway's options in the settings. */
const engineOptions = (settings: ProxySettings): PlimsollOptions => ({
  ...those(ENGINE, settings),
  budgets: settings.budgets && budgetsOf(settings.budgets),
})

const liveOptions = (settings: ProxySettings): LiveOptions => those(LIVE, engineOptions(settings))
