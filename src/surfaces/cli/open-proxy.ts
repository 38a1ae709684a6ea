import cluster from 'node:cluster'
import type { PlimsollEvent } from '../../core/events.ts'
import { budgetsOf } from '../../engine/config/index.ts'
import { createPlimsoll, type Plimsoll } from '../../plimsoll.ts'
import type { ProxyConfig } from '../gateway/config.ts'
import { createControl } from '../gateway/control.ts'
import { createEventHub, type EventHub } from '../gateway/event-hub.ts'
import { createMetrics } from '../gateway/metrics.ts'
import { startProxy, type Proxy, type ProxyLine } from '../gateway/proxy.ts'
import type { Upstreams } from '../gateway/upstreams.ts'

export interface OpenProxy {
  readonly proxy: Proxy
  readonly plimsoll: Plimsoll
  readonly hub: EventHub
  readonly close: () => Promise<void>
}

/** A proxy with everything around it: store, events, metrics, control routes. */
export async function openProxy(
  settings: ProxyConfig & { readonly upstreams: Upstreams },
  onRequest: (line: ProxyLine) => void,
): Promise<OpenProxy> {
  const { policy, store, artifacts, window, observe, tools, maxBodyBytes, budgets, models, upstreams, ...rest } =
    settings
  const hub = createEventHub()
  const metrics = createMetrics()
  const count = (event: PlimsollEvent): void => {
    hub.take(event)
    metrics.take(event)
  }
  const plimsoll = createPlimsoll({
    ...(policy !== undefined && { policy }),
    ...(store !== undefined && { store }),
    ...(artifacts !== undefined && { artifacts }),
    ...(window !== undefined && { window }),
    ...(observe !== undefined && { observe }),
    ...(tools !== undefined && { tools }),
    ...(maxBodyBytes !== undefined && { maxBodyBytes }),
    ...(budgets !== undefined && { budgets: budgetsOf(budgets) }),
    ...(models !== undefined && { models }),
    onEvent(event) {
      count(event)
      if (cluster.isWorker) process.send?.({ plimsollEvent: event })
    },
  })
  // What the other workers decided, passed on by their parent.
  const onMessage = (message: { plimsollEvent?: PlimsollEvent }): void => {
    if (message.plimsollEvent === undefined) return
    count(message.plimsollEvent)
    plimsoll.ledger.take(message.plimsollEvent)
  }
  if (cluster.isWorker) process.on('message', onMessage)
  const token = process.env['PLIMSOLL_TOKEN']
  const proxy = await startProxy(plimsoll.gateway, {
    ...rest,
    upstreams,
    ...(token !== undefined && { token }),
    control: createControl({ hub, ledger: plimsoll.ledger, metrics, isReady: () => plimsoll.isReady() }),
    sidecar: plimsoll.sidecar,
    onRequest,
  })
  return {
    proxy,
    plimsoll,
    hub,
    async close() {
      process.off('message', onMessage)
      await proxy.close()
      await plimsoll.close()
    },
  }
}
