import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach } from 'vitest'
import { createPlimsoll, type Plimsoll, type PlimsollEvent, type PlimsollOptions } from '../../src/index.ts'
import { createControl } from '../../src/gateway/operate/control.ts'
import { createEventHub, type EventHub } from '../../src/gateway/operate/control.ts'
import { createMetrics } from '../../src/gateway/operate/metrics.ts'
import { startProxy, type Proxy, type ProxyLine, type ProxyOptions } from '../../src/gateway/proxy.ts'

export interface Received {
  readonly method: string
  readonly url: string
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export interface PlainUpstream {
  readonly url: string
  readonly received: Received[]
  readonly server: Server
}

type Respond = (request: Received, response: ServerResponse, incoming: IncomingMessage) => void | Promise<void>

const open: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const close of open.splice(0).toReversed()) await close()
})

export const closeLater = (close: () => Promise<void> | void): void => void open.push(close)

/** An upstream that keeps what it got, byte for byte, and answers as the test says. */
export async function plainUpstream(respond: Respond): Promise<PlainUpstream> {
  const received: Received[] = []
  const server = createServer((incoming, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk as Buffer)
      const { method = '', url = '', headers } = incoming
      const request = { method, url, headers, body: Buffer.concat(chunks) }
      received.push(request)
      await respond(request, response, incoming)
    })().catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closeLater(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received, server }
}

export interface TestProxy {
  readonly proxy: Proxy
  readonly plimsoll: Plimsoll
  readonly events: PlimsollEvent[]
  readonly lines: ProxyLine[]
  readonly hub: EventHub
}

export async function testProxy(
  options: Omit<ProxyOptions, 'port'>,
  settings: PlimsollOptions = {},
): Promise<TestProxy> {
  const events: PlimsollEvent[] = []
  const lines: ProxyLine[] = []
  const hub = createEventHub()
  const metrics = createMetrics()
  const plimsoll = createPlimsoll({
    store: 'memory:',
    secret: Buffer.from('a secret that is long enough'),
    onEvent(event) {
      events.push(event)
      hub.take(event)
      metrics.take(event)
    },
    ...settings,
  })
  const proxy = await startProxy(plimsoll.gateway, {
    port: 0,
    drainMs: 2_000,
    onRequest: (line) => lines.push(line),
    sidecar: plimsoll.sidecar,
    control: createControl({
      hub,
      ledger: plimsoll.ledger,
      metrics,
      isReady: () => plimsoll.isReady(),
      tenantOf: (header, path) => plimsoll.gateway.tenantOf(header, path),
      ...(options.operatorToken !== undefined && { operatorToken: options.operatorToken }),
    }),
    ...options,
  })
  closeLater(async () => {
    await proxy.close()
    await plimsoll.close()
  })
  return { proxy, plimsoll, events, lines, hub }
}

/** A Messages answer of the smallest kind. */
export const MESSAGE = JSON.stringify({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'claude-sonnet-4-5',
  content: [{ type: 'text', text: 'Hi' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 12, output_tokens: 3 },
})

/** White space, key order and an unknown key that parse + stringify would lose. */
export const ODD_BODY =
  '{ "zeta":1.0,\n  "model" : "claude-sonnet-4-5", "max_tokens":64,"2":"b","1":"a", "messages":[{"role":"user","content":"Hi \\u00e9"}] }'

export const post = (url: string, body: string | Uint8Array, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    body: body as BodyInit,
    headers: { 'content-type': 'application/json', 'x-api-key': 'sk-1', 'anthropic-version': '2023-06-01', ...headers },
  })

export const json =
  (body: string, headers: Record<string, string> = {}): Respond =>
  (_request, response) =>
    void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(body)
