import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createPlimsoll } from '../../src/index.ts'
import type { MaintainedStore } from '../../src/ports/store-maintenance.ts'
import { openDashboard } from '../../src/dashboard/open-dashboard.ts'
import { serveDashboard } from '../../src/dashboard/dashboard.ts'
import { createControl } from '../../src/gateway/operate/control.ts'
import { createEventHub, type EventHub } from '../../src/gateway/operate/control.ts'
import { createMetrics } from '../../src/gateway/operate/metrics.ts'

/** The page over a store, on a socket, with a stream of events to feed. */
export async function servedDashboard(
  sessions: MaintainedStore,
): Promise<{ readonly url: string; readonly hub: EventHub; close(): Promise<void> }> {
  const hub = createEventHub()
  const catalogue = bundledCatalogue()
  const plimsoll = createPlimsoll({ store: sessions, artifacts: 'memory:', secret: Buffer.alloc(32, 1), catalogue })
  const control = createControl({
    hub,
    ledger: plimsoll.ledger,
    metrics: createMetrics(),
    isReady: async () => true,
    tenantOf: async () => 'local',
  })
  const options = { plimsoll, sessions, catalogue, source: 'store', storeName: 'memory:' } as const
  const dashboard = openDashboard({ ...options, policy: async () => [] })
  const { url, close } = await serveDashboard({ port: 0, dashboard, control })
  return {
    url,
    hub,
    async close() {
      await close()
      await plimsoll.close()
    },
  }
}
