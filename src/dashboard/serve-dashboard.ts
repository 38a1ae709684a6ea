import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isPlimsollError } from '../core/errors.ts'
import { checkOrigin } from '../gateway/http/other-origins.ts'
import type { Control } from '../gateway/operate/control.ts'
import { headerReader } from '../gateway/upstream/upstream-call.ts'
import type { Dashboard } from './dashboard.ts'

export interface ServedDashboard {
  readonly url: string
  close(): Promise<void>
}

export interface ServeOptions {
  readonly port: number
  readonly dashboard: Dashboard
  /** Live events. */
  readonly control: Control
}

const HOST = '127.0.0.1'
const RULES = { isLocal: true, allowedHosts: [], allowedOrigins: [] }

/** The page on a socket of its own. On loopback only: who may open the store's file may look at it. */
export async function serveDashboard(options: ServeOptions): Promise<ServedDashboard> {
  const server = createServer((incoming, response) => void answer(options, incoming, response))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, HOST, resolve)
  })
  return {
    url: `http://${HOST}:${(server.address() as AddressInfo).port}`,
    async close() {
      options.control.close()
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(
  { dashboard, control }: ServeOptions,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const path = incoming.url ?? '/'
  const header = headerReader(incoming)
  try {
    checkOrigin(RULES, header)
    if (control.isOpen(path) || (control.serves(path) && !dashboard.serves(path))) {
      await control.handle({ incoming, response, path, token: undefined, header, isReady: true })
    } else await dashboard.handle({ incoming, response, path, audience: async () => EVERYTHING })
  } catch (error) {
    if (response.headersSent) return void response.destroy()
    const message = isPlimsollError(error) ? error.message : 'The page could not be answered.'
    response.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
  }
}

const EVERYTHING = { sees: () => true }
