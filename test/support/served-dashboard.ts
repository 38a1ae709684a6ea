import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createPlimsoll } from '../../src/index.ts'
import type { MaintainedStore } from '../../src/ports/store-maintenance.ts'
import { serveWithPage } from '../../src/cli/open-proxy.ts'
import { createEventHub, type EventHub } from '../../src/gateway/operate/control.ts'

/** The page over a store, on a socket, with a stream of events to feed. */
export async function servedDashboard(
  sessions: MaintainedStore,
): Promise<{ readonly url: string; readonly hub: EventHub; close(): Promise<void> }> {
  const hub = createEventHub()
  const catalogue = bundledCatalogue()
  const plimsoll = createPlimsoll({ store: sessions, artifacts: 'memory:', secret: Buffer.alloc(32, 1), catalogue })
  const { proxy } = await serveWithPage(
    { hub },
    { plimsoll, sessions, catalogue, source: 'store', storeName: 'memory:', policy: async () => [] },
    { port: 0, upstreams: {} },
  )
  return {
    url: proxy.url,
    hub,
    async close() {
      await proxy.close()
      await plimsoll.close()
    },
  }
}
