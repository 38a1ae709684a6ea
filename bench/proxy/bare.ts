/** The least that a proxy on Node can do: `node:http` in front, `undici` behind, bytes through. */
import { createServer } from 'node:http'
import { Agent, request } from 'undici'

const upstream = process.argv[2]!
const dispatcher = new Agent({ connections: 1_024 })

const server = createServer((incoming, response) => {
  const { host: _host, connection: _connection, ...headers } = incoming.headers
  request(upstream + (incoming.url ?? '/'), {
    method: incoming.method ?? 'GET',
    headers,
    body: incoming,
    dispatcher,
  }).then(
    ({ statusCode, headers: answered, body }) => {
      const { connection: _c, 'keep-alive': _k, 'transfer-encoding': _t, ...passed } = answered
      response.writeHead(statusCode, passed)
      body.pipe(response)
    },
    () => response.writeHead(502).end(),
  )
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }))
