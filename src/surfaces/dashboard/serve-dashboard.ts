import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { PlimsollEvent } from '../../core/events.ts'
import type { Control } from '../gateway/operate/control.ts'
import type { Dashboard } from './dashboard.ts'

export interface ServedDashboard {
  readonly url: string
  close(): Promise<void>
}

export interface ServeOptions {
  readonly port: number
  readonly dashboard: Dashboard
  readonly control: Control
}

export type { PlimsollEvent }

/** The page on a socket of its own, on loopback only: a store is looked at by whoever may open its file. */
export async function serveDashboard({ port, dashboard, control }: ServeOptions): Promise<ServedDashboard> {
  const server = createServer((incoming, response) => void answer(dashboard, control, incoming, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close: async () => {
      control.close()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

async function answer(
  dashboard: Dashboard,
  _control: Control,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  await dashboard.handle(incoming, response, incoming.url ?? '/')
}
