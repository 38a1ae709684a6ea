import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { PlimsollError } from '../../src/core/errors.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { json, MESSAGE, ODD_BODY, plainUpstream, post, testProxy } from './upstream.ts'

/** Whatever happened before, the next request is served. */
async function stillServes(url: string): Promise<void> {
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
}

describe('bad upstreams', () => {
  it('a reset becomes one clear error in the client’s wire', async () => {
    const upstream = await plainUpstream((_request, _response, incoming) => void incoming.socket.resetAndDestroy())
    const { proxy, lines } = await testProxy({ upstreams: { anthropic: upstream.url, gemini: upstream.url } })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { type: 'error', error: { type: 'api_error' } },
    ])
    expect(response.headers.get('x-should-retry')).toBe('true')
    // Once more on a fresh connection, and no more than that.
    expect(upstream.received).toHaveLength(2)
    expect(lines[0]).toMatchObject({ status: 502, error: 'upstream' })
    await stillServes(proxy.url)
  })

  it('a stream that breaks off breaks off for the client too, and what came is recorded', async () => {
    const begin = `event: message_start\ndata: ${JSON.stringify({ type: 'message_start', message: { ...JSON.parse(MESSAGE), content: [], usage: { input_tokens: 9, output_tokens: 1 } } })}\n\n`
    const word =
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi"}}\n\n'
    const upstream = await plainUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(begin + word, () => response.destroy())
    })
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    await expect(response.text()).rejects.toThrow()
    await expect.poll(() => events.at(-1)?.type).toBe('request-forwarded')
    await stillServes(proxy.url)
  })

  it('a stream that breaks off before its first word gives way to the next place, and without one is an error', async () => {
    const broken = await plainUpstream((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('event: ping\ndata: {"type":"ping"}\n\n', () => response.destroy())
    })
    const good = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: [broken.url, good.url], openai: broken.url } })
    expect(await (await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)).text()).toBe(MESSAGE)
    const alone = await post(`${proxy.url}/openai/v1/messages`, ODD_BODY)
    expect([alone.status, alone.headers.get('x-should-retry')]).toEqual([502, 'true'])
  })

  it('an upstream that never answers is given up on', async () => {
    const upstream = await plainUpstream(() => undefined)
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url }, upstreamTimeoutMs: 200 })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    expect([response.status, await response.json()]).toMatchObject([504, { error: { code: 'timeout' } }])
  })

  it('answers of nonsense pass as they are', async () => {
    for (const [type, body] of [
      ['application/json', '{"content":'],
      ['text/event-stream', 'data: {"type":\n\ndata: [DONE]\n\n: x\n\n'],
      ['text/html', '<h1>Hello</h1>'],
      ['application/json', '[]'],
    ] as const) {
      const upstream = await plainUpstream(
        (_request, response) => void response.writeHead(200, { 'content-type': type }).end(body),
      )
      const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
      expect(await (await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)).text()).toBe(body)
      await stillServes(proxy.url)
    }
  })
})

describe('bad stores', () => {
  it('a store that is away does not stop the agent', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    let isAway = true
    const away = new Proxy(memoryStore(), {
      get(store, key) {
        if (key === 'close') return () => Promise.resolve()
        return key === 'name'
          ? 'away'
          : (...given: unknown[]): unknown =>
              isAway
                ? Promise.reject(new PlimsollError('store-unavailable', 'The disk is gone.'))
                : (Reflect.get(store, key) as (...given: unknown[]) => unknown)(...given)
      },
    })
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } }, { store: away })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    expect([response.status, await response.text()]).toEqual([200, MESSAGE])
    // From memory: it is managed all the same.
    expect(response.headers.get('x-plimsoll-verdict')).toBe('proceed')
    expect(upstream.received[0]!.body.toString()).toBe(ODD_BODY)
    expect(events).toContainEqual(expect.objectContaining({ type: 'degraded', cause: 'The disk is gone.' }))
    expect((await fetch(`${proxy.url}/readyz`)).status).toBe(503)
    isAway = false
  })
})

describe('bad clients', () => {
  it('a body above the limit is refused, announced or not, packed or not', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } }, { maxBodyBytes: 1_000_000 })
    const url = `${proxy.url}/anthropic/v1/messages`
    const large = await post(url, `{"messages":"${'x'.repeat(2_000_000)}"}`).catch((error: unknown) => error as Error)
    if (large instanceof Response) {
      expect([large.status, await large.json()]).toMatchObject([413, { error: { type: 'request_too_large' } }])
    }
    const bomb = await post(url, gzipSync(Buffer.alloc(50_000_000, 0x20)), { 'content-encoding': 'gzip' })
    expect([bomb.status, await bomb.json()]).toMatchObject([413, { error: { code: 'too-large' } }])
    expect(upstream.received).toEqual([])
    await stillServes(proxy.url)
  })

  it('a hundred megabytes in pieces are cut off long before their end', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } }, { maxBodyBytes: 1_000_000 })
    const { port } = new URL(proxy.url)
    const socket = connect(Number(port), '127.0.0.1')
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    const answers: string[] = []
    socket.on('data', (chunk: Buffer) => answers.push(chunk.toString()))
    socket.on('error', () => undefined)
    socket.write('POST /anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n')
    const piece = `${(1_000_000).toString(16)}\r\n${'x'.repeat(1_000_000)}\r\n`
    let sent = 0
    while (sent < 100 && !socket.destroyed && answers.length === 0) {
      sent++
      if (!socket.write(piece)) await Promise.race([closed, new Promise((resolve) => socket.once('drain', resolve))])
    }
    await expect.poll(() => answers.join('')).toContain('413')
    expect(sent).toBeLessThan(50)
    socket.destroy()
    await stillServes(proxy.url)
  })

  it('an unknown encoding and a broken one get a clear word or the provider’s', async () => {
    const upstream = await plainUpstream((_request, response) => void response.writeHead(400).end('no'))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const url = `${proxy.url}/anthropic/v1/messages`
    const unknown = await post(url, ODD_BODY, { 'content-encoding': 'snappy' })
    expect([unknown.status, await unknown.text()]).toEqual([415, expect.stringContaining('gzip')])
    expect((await post(url, 'not gzip', { 'content-encoding': 'gzip' })).status).toBe(400)
    expect(upstream.received).toHaveLength(1)
  })

  it('one who never finishes asking is shown the door', async () => {
    const { proxy } = await testProxy({ upstreams: { anthropic: 'http://127.0.0.1:1' }, requestTimeoutMs: 200 })
    const { port } = new URL(proxy.url)
    const socket = connect(Number(port), '127.0.0.1')
    socket.write('POST /anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{')
    let answer = ''
    for await (const chunk of socket) answer += String(chunk)
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    await stillServes(proxy.url)
  })

  it('names that look like paths or headers stay names', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } })
    for (const name of ['../../etc/passwd', '..\\..\\x', '/absolute', '%2e%2e%2f', 'a b\tc', 'ünï', '-', '{"a":1}']) {
      const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY, {
        'x-plimsoll-session': encodeURI(name),
      })
      expect(response.status).toBe(200)
      expect(decodeURIComponent(response.headers.get('x-plimsoll-session')!)).toBe(encodeURI(name))
    }
    expect(new Set(events.map((event) => event.session)).size).toBe(8)
  })

  it('bodies that are hard to read do no harm', async () => {
    const upstream = await plainUpstream((_request, response) => void response.writeHead(400).end('no'))
    const { proxy } = await testProxy({
      upstreams: { anthropic: upstream.url, openai: upstream.url, gemini: upstream.url },
    })
    const deep = '['.repeat(100_000)
    const bodies = [
      deep,
      `{"messages":${'['.repeat(5_000)}${']'.repeat(5_000)}}`,
      '{"messages":[{"role":"user","content":[null,1,{"type":"tool_result"}]}],"model":7,"max_tokens":"x"}',
      '{"__proto__":{"polluted":1},"messages":[{"role":"__proto__","content":"x"}],"model":"m","max_tokens":1}',
      '\u{FEFF}{"messages":[]}',
      '{"messages":[{"role":"user","content":"\\ud800"}],"model":"m","max_tokens":1}',
    ]
    for (const path of [
      '/anthropic/v1/messages',
      '/openai/v1/chat/completions',
      '/openai/v1/responses',
      '/gemini/v1beta/models/m:generateContent',
    ]) {
      for (const body of bodies) {
        const { status } = await post(proxy.url + path, body)
        expect([path, body.slice(0, 40), status]).toEqual([path, body.slice(0, 40), body === deep ? 413 : 400])
      }
    }
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
    await stillServes(proxy.url)
  })
})
