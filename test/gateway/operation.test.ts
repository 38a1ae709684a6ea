import { readFileSync } from 'node:fs'
import { createServer as createTlsServer } from 'node:https'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSseParser } from '../../src/formats/framing.ts'
import { createPlimsoll, isPlimsollError } from '../../src/index.ts'
import { startProxy } from '../../src/gateway/proxy.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { closeLater, json, MESSAGE, ODD_BODY, plainUpstream, post, testProxy } from './upstream.ts'

const TOKEN = 'tok-very-secret'

describe('options that cannot be right', () => {
  it.each<[string, object, RegExp]>([
    ['a misspelt one', { upstreams: {}, allowedHost: ['a'] }, /no "allowedHost" in .*Did you mean "allowedHosts"/],
    ['a port beyond the last', { upstreams: {}, port: 70_000 }, /port must be a port, between 0/],
    ['an upstream without a URL', { upstreams: { openai: { model: 'm' } } }, /url of .* is missing/],
    [
      'a misspelt part of an upstream',
      { upstreams: { openai: [{ url: 'http://a', modle: 'm' }] } },
      /Did you mean "model"/,
    ],
    [
      'an upstream that is a number',
      { upstreams: { openai: 5 } },
      /openai must be an upstream or a list of them, not 5/,
    ],
    [
      'an upstream that is no URL',
      { upstreams: { openai: 'nowhere' } },
      /The upstream "nowhere" of openai is not a URL/,
    ],
  ])('%s', async (_, options, message) => {
    const { gateway } = createPlimsoll({ store: 'memory:' })
    const start = startProxy as (...given: unknown[]) => Promise<unknown>
    const error = await start(gateway, { port: 0, ...options }).catch((reason: unknown) => reason)
    expect(isPlimsollError(error, 'bad-config') && error.message).toMatch(message)
  })
})

describe('who may use it', () => {
  it('will not listen for others without a token', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:' })
    await expect(startProxy(plimsoll.gateway, { port: 0, host: '0.0.0.0', upstreams: {} })).rejects.toMatchObject({
      code: 'bad-config',
    })
    await plimsoll.close()
  })

  it('asks for its token in the client’s own wire, takes it as header or in the path, and keeps it to itself', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy, lines, events } = await testProxy({ upstreams: { anthropic: upstream.url }, token: TOKEN })
    const refused = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    expect([refused.status, await refused.json()]).toMatchObject([
      401,
      { type: 'error', error: { type: 'authentication_error' } },
    ])
    expect((await post(`${proxy.url}/t/wrong/anthropic/v1/messages`, ODD_BODY)).status).toBe(401)
    expect((await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY, { 'x-plimsoll-token': TOKEN })).status).toBe(200)
    expect((await post(`${proxy.url}/t/${TOKEN}/anthropic/v1/messages`, ODD_BODY)).status).toBe(200)
    expect(upstream.received.map((received) => received.url)).toEqual(['/v1/messages', '/v1/messages'])
    const seen = JSON.stringify([upstream.received.map((received) => received.headers), lines, events])
    expect(seen).not.toContain(TOKEN)
    // The client's credential reaches the provider and nothing else.
    expect(JSON.stringify([lines, events])).not.toContain('sk-1')
    for (const path of ['/metrics', '/plimsoll/api/sessions', '/plimsoll/events']) {
      expect((await fetch(proxy.url + path)).status).toBe(401)
    }
    expect((await fetch(`${proxy.url}/healthz`)).status).toBe(200)
  })
})

describe('what it says about itself', () => {
  it('serves health, readiness, metrics, sessions and events', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    await (await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY, { 'x-plimsoll-session': 'ünïcode/../x' })).text()
    expect(await (await fetch(`${proxy.url}/readyz`)).json()).toEqual({ ready: true, store: true })
    const metrics = await (await fetch(`${proxy.url}/metrics`)).text()
    expect(metrics).toContain('plimsoll_requests_prepared_total{verdict="proceed"} 1')
    expect(metrics).toContain('plimsoll_tokens_total{kind="input"} 12')
    expect(metrics).toContain('plimsoll_request_duration_seconds_bucket{le="+Inf"} 1')
    for (const line of metrics.trim().split('\n'))
      expect(line).toMatch(/^(# (HELP|TYPE) \w+ .+|\w+(\{[^}]*\})? [\d.e+-]+)$/)
    const { sessions } = (await (await fetch(`${proxy.url}/plimsoll/api/sessions`)).json()) as { sessions: object[] }
    expect(sessions).toEqual([
      expect.objectContaining({ session: 'ünïcode/../x', requests: 1, usage: expect.objectContaining({ input: 12 }) }),
    ])
    const one = await fetch(`${proxy.url}/plimsoll/api/sessions/${encodeURIComponent('ünïcode/../x')}`)
    expect(one.status).toBe(200)
    const page = (await (await fetch(`${proxy.url}/plimsoll/api/events?since=0`)).json()) as {
      last: number
      events: { type: string }[]
    }
    expect(page.events.map((event) => event.type)).toEqual(['request-prepared', 'usage-recorded', 'request-forwarded'])
    expect((await fetch(`${proxy.url}/plimsoll/api/nothing`)).status).toBe(404)
    expect((await fetch(`${proxy.url}/metrics`, { method: 'POST' })).status).toBe(501)
  })

  it('streams events as they happen, and again from where a listener left off', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const stream = await fetch(`${proxy.url}/plimsoll/events`)
    const seen: string[] = []
    const parser = createSseParser()
    const reader = stream.body!.getReader()
    await (await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)).text()
    while (!seen.includes('request-forwarded')) {
      const { value } = await reader.read()
      for (const event of parser.push(value!)) seen.push(event.event!)
    }
    await reader.cancel()
    expect(seen).toEqual(['request-prepared', 'usage-recorded', 'request-forwarded'])
    const again = await fetch(`${proxy.url}/plimsoll/events`, { headers: { 'last-event-id': '1' } })
    const second = await again.body!.getReader().read()
    expect(createSseParser().push(second.value!)[0]).toMatchObject({ event: 'usage-recorded' })
  })
})

describe('coming and going', () => {
  it('lets a stream in flight end before it closes', async () => {
    let finish: () => void = () => undefined
    const upstream = await plainUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: ping\ndata: {"type":"ping"}\n\n')
      finish = () => response.end('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    })
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    const reader = response.body!.getReader()
    await reader.read()
    const closed = proxy.close()
    await expect(fetch(`${proxy.url}/healthz`)).rejects.toThrow()
    finish()
    expect(Buffer.from((await reader.read()).value!).toString()).toContain('message_stop')
    await closed
  })

  it('takes new upstreams without a restart', async () => {
    const first = await plainUpstream(json('{"from":"first"}'))
    const second = await plainUpstream(json('{"from":"second"}'))
    const { proxy } = await testProxy({ upstreams: { openai: first.url } })
    const ask = async () => (await fetch(`${proxy.url}/openai/v1/models`)).json()
    expect(await ask()).toEqual({ from: 'first' })
    proxy.reload({ upstreams: { openai: second.url } })
    expect(await ask()).toEqual({ from: 'second' })
    expect(() => proxy.reload({ upstreams: { openai: 'ftp://x' } })).toThrow('http or https')
    expect(await ask()).toEqual({ from: 'second' })
  })

  it('takes new settings while a stream runs; the stream ends as it began', async () => {
    let goOn = (): void => undefined
    const upstream = await plainUpstream(async (request, response) => {
      if (!request.body.toString().includes('"stream":true')) {
        response.writeHead(200, { 'content-type': 'application/json' }).end(MESSAGE)
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: content_block_start\ndata: {"type":"content_block_start","index":0}\n\n')
      await new Promise<void>((resolve) => void (goOn = resolve))
      response.end('event: message_stop\ndata: {"type":"message_stop"}\n\n')
    })
    const { proxy, plimsoll } = await testProxy({ upstreams: { anthropic: upstream.url } }, { window: 50_000 })
    const url = `${proxy.url}/anthropic/v1/messages`
    const body = (stream: boolean): string =>
      JSON.stringify({
        model: 'claude-sonnet-4-5',
        max_tokens: 64,
        stream,
        messages: [{ role: 'user', content: 'Hi' }],
      })
    const running = await post(url, body(true))
    const before = Number((await post(url, body(false))).headers.get('x-plimsoll-limit'))
    plimsoll.reconfigure({ window: 20_000, observe: true })
    const after = await post(url, body(false))
    expect(before).toBeGreaterThan(40_000)
    expect(Number(after.headers.get('x-plimsoll-limit'))).toBeLessThan(20_000)
    expect(after.headers.get('x-plimsoll-mode')).toBe('observe')
    goOn()
    expect(await running.text()).toContain('message_stop')
    const spent = { name: 'nothing left', scope: 'session', unit: 'tokens', hard: 1, finalShare: 0 } as const
    plimsoll.reconfigure({ budgets: [spent] })
    expect((await post(url, body(false))).headers.get('x-plimsoll-verdict')).toBe('halt')
    plimsoll.reconfigure({})
    expect((await post(url, body(false))).headers.get('x-plimsoll-verdict')).toBe('proceed')
    plimsoll.reconfigure({ maxBodyBytes: 10 })
    expect((await post(url, body(false))).status).toBe(413)
  })

  it('names the compaction in the headers of its answer, with its receipt', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } }, { window: 8_000 })
    const ask = () => post(`${proxy.url}/anthropic/v1/messages`, JSON.stringify(toolLoop({ steps: 200 })))
    const first = await ask()
    expect(first.headers.get('x-plimsoll-epoch')).toMatch(/^ep_/)
    const kinds = first.headers.get('x-plimsoll-receipt')!.split('; ')
    expect(kinds.map((kind) => kind.split('=')[0])).toEqual([
      'demands',
      'decisions',
      'errors',
      'files',
      'commands',
      'openItems',
    ])
    for (const kind of kinds) expect(kind).toMatch(/=\d+\/\d+\/\d+\/\d+$/)
    const second = await ask()
    expect(second.headers.get('x-plimsoll-epoch')).toBe(first.headers.get('x-plimsoll-epoch'))
    expect(second.headers.get('x-plimsoll-receipt')).toBeNull()
  })

  it('refuses a WebSocket with a sentence', async () => {
    const { proxy } = await testProxy({ upstreams: {} })
    const { port } = new URL(proxy.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('GET /openai/v1/responses HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
    const text = await readAll(socket)
    expect(text).toMatch(/^HTTP\/1\.1 426 /)
    expect(text).toContain('server-sent events')
  })

  it('tells the upstream when the client walks away', async () => {
    let gone: () => void = () => undefined
    const noticed = new Promise<void>((resolve) => (gone = resolve))
    const upstream = await plainUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: ping\ndata: {"type":"ping"}\n\n')
      response.once('close', gone)
    })
    const { proxy, lines, events } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const abort = new AbortController()
    const response = await fetch(`${proxy.url}/anthropic/v1/messages`, {
      method: 'POST',
      body: ODD_BODY,
      signal: abort.signal,
      headers: { 'x-api-key': 'sk-1' },
    })
    await response.body!.getReader().read()
    abort.abort()
    await noticed
    await expect.poll(() => lines).toHaveLength(1)
    expect(events.at(-1)).toMatchObject({ type: 'request-forwarded' })
  })

  it('goes no faster than its client', async () => {
    const total = 48 * 1024 * 1024
    let produced = 0
    const upstream = await plainUpstream(async (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/octet-stream' })
      const chunk = Buffer.alloc(64 * 1024, 'x')
      while (produced < total) {
        produced += chunk.length
        if (!response.write(chunk)) await new Promise((resolve) => response.once('drain', resolve))
      }
      response.end()
    })
    const { proxy } = await testProxy({ upstreams: { openai: upstream.url } })
    const response = await fetch(`${proxy.url}/openai/v1/files/f1/content`)
    let received = 0
    let ahead = 0
    for await (const chunk of response.body!) {
      received += chunk.length
      ahead = Math.max(ahead, produced - received)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(received).toBe(total)
    expect(ahead).toBeLessThan(total / 3)
  })
})

describe('the way to upstreams', () => {
  it('goes through HTTP_PROXY where that is set', async () => {
    const upstream = await plainUpstream(json('{"ok":1}'))
    const tunnelled: string[] = []
    const tunnel = createServer()
    tunnel.on('connect', (incoming, client: Socket) => {
      tunnelled.push(incoming.url ?? '')
      const { port } = new URL(`http://${incoming.url}`)
      const through = connect(Number(port), '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n')
        through.pipe(client).pipe(through)
      })
      client.on('error', () => through.destroy())
      through.on('error', () => client.destroy())
    })
    await new Promise<void>((resolve) => tunnel.listen(0, '127.0.0.1', resolve))
    closeLater(() => {
      tunnel.closeAllConnections()
      tunnel.close()
    })
    const before = { ...process.env }
    process.env['HTTP_PROXY'] = `http://127.0.0.1:${(tunnel.address() as AddressInfo).port}`
    process.env['NO_PROXY'] = ''
    try {
      const { proxy } = await testProxy({ upstreams: { openai: upstream.url } })
      expect(await requestJson(`${proxy.url}/openai/v1/models`)).toEqual({ ok: 1 })
    } finally {
      process.env = before
    }
    expect(tunnelled).toEqual([new URL(upstream.url).host])
  })

  it('trusts a certificate authority of its own only when told to', async () => {
    const folder = join(import.meta.dirname, '../fixtures/tls')
    const server = createTlsServer(
      { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'cert.pem')) },
      (_incoming, response) => response.end('{"ok":1}'),
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    closeLater(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `https://localhost:${(server.address() as AddressInfo).port}`
    const strict = await testProxy({ upstreams: { openai: url } })
    expect((await fetch(`${strict.proxy.url}/openai/v1/models`)).status).toBe(502)
    const trusting = await testProxy({ upstreams: { openai: url }, caFile: join(folder, 'cert.pem') })
    expect(await requestJson(`${trusting.proxy.url}/openai/v1/models`)).toEqual({ ok: 1 })
  })
})

const requestJson = async (url: string): Promise<unknown> => (await fetch(url)).json()

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
