import { randomBytes } from 'node:crypto'
import { request } from 'node:http'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { json, MESSAGE, ODD_BODY, plainUpstream, post, testProxy } from './upstream.ts'

describe('bytes that pass', () => {
  it('an untouched model call leaves as the bytes that came in, and its answer comes back as it was', async () => {
    const upstream = await plainUpstream(json(MESSAGE, { 'request-id': 'req_1', 'x-plimsoll-load': 'forged' }))
    const { proxy, lines } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const response = await post(`${proxy.url}/anthropic/v1/messages?beta=true`, ODD_BODY, {
      'anthropic-beta': 'new-thing',
    })
    expect(await response.text()).toBe(MESSAGE)
    const [got] = upstream.received
    expect(got).toMatchObject({ method: 'POST', url: '/v1/messages?beta=true' })
    expect(got!.body.toString()).toBe(ODD_BODY)
    expect(got!.headers).toMatchObject({ 'x-api-key': 'sk-1', 'anthropic-beta': 'new-thing' })
    expect(response.headers.get('request-id')).toBe('req_1')
    expect(Number(response.headers.get('x-plimsoll-load'))).toBeGreaterThan(0)
    expect(lines).toEqual([expect.objectContaining({ status: 200, path: '/anthropic/v1/messages' })])
  })

  it('keeps a packed body packed when it is not touched', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    for (const [encoding, packed] of [
      ['gzip', gzipSync(ODD_BODY)],
      ['br', brotliCompressSync(ODD_BODY)],
    ] as const) {
      const response = await post(`${proxy.url}/anthropic/v1/messages`, packed, { 'content-encoding': encoding })
      expect(response.status).toBe(200)
      expect(response.headers.get('x-plimsoll-verdict')).toBe('proceed')
      const got = upstream.received.at(-1)!
      expect(got.headers['content-encoding']).toBe(encoding)
      expect(got.body.equals(packed)).toBe(true)
    }
  })

  it.each([
    ['of a length that was told', 300_000, true],
    ['of a length that was not told', 300_000, false],
    ['longer than what is set aside for it', 5_000_000, true],
  ])('puts a body %s together from pieces of any size', async (_what, bytes, isTold) => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    // White space of three kinds: a piece that lands elsewhere is seen, and no window is filled.
    const space = randomBytes(bytes - Buffer.byteLength(ODD_BODY)).map((byte) => ' \n\t'.charCodeAt(byte % 3))
    const body = Buffer.concat([space, Buffer.from(ODD_BODY)])
    const lengths = [1, 65_536, 3, 100_000, 7]
    const answered = new Promise<number>((resolve, reject) => {
      const sending = request(
        `${proxy.url}/anthropic/v1/messages`,
        { method: 'POST', headers: { 'content-type': 'application/json', ...(isTold && { 'content-length': bytes }) } },
        (response) => response.resume().on('end', () => resolve(response.statusCode!)),
      )
      sending.on('error', reject)
      const send = (from: number, turn: number): void => {
        const to = from + lengths[turn % lengths.length]!
        const piece = body.subarray(from, to)
        // Each leaves before the next is written.
        if (to >= bytes) sending.end(piece)
        else sending.write(piece, () => send(to, turn + 1))
      }
      send(0, 0)
    })
    expect(await answered).toBe(200)
    expect(upstream.received[0]!.body.equals(body)).toBe(true)
  })

  it('unpacks a body that it changes', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } }, { window: 8_000 })
    const big = JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 64,
      messages: [
        { role: 'user', content: 'Go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'bash', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'line of output\n'.repeat(20_000) }],
        },
      ],
    })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, gzipSync(big), { 'content-encoding': 'gzip' })
    expect(response.status).toBe(200)
    const got = upstream.received[0]!
    expect(got.headers['content-encoding']).toBeUndefined()
    expect(got.body.length).toBeLessThan(big.length / 10)
    expect(JSON.parse(got.body.toString())).toMatchObject({ messages: [{ content: 'Go' }, {}, {}] })
    expect(Number(response.headers.get('x-plimsoll-saved'))).toBeGreaterThan(10_000)
  })

  it('asks for a plain answer, and unpacks one that comes packed anyway', async () => {
    const upstream = await plainUpstream((_request, response) => {
      const packed = gzipSync(MESSAGE)
      response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(packed)
    })
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const raw = await rawPost(`${proxy.url}/anthropic/v1/messages`, ODD_BODY, { 'accept-encoding': 'gzip, zstd' })
    expect(upstream.received[0]!.headers['accept-encoding']).toBe('identity')
    expect(raw.headers['content-encoding']).toBeUndefined()
    expect(raw.body.toString()).toBe(MESSAGE)
    // Answers are recorded when the client has them.
    await proxy.close()
    expect(events.find((event) => event.type === 'usage-recorded')).toMatchObject({ usage: { input: 12, output: 3 } })
  })

  it('streams what is no model call both ways without reading it', async () => {
    const upload = randomBytes(3_000_000)
    const upstream = await plainUpstream((received, response) => {
      response
        .writeHead(201, { 'content-type': 'application/octet-stream', 'set-cookie': ['a=1', 'b=2'] })
        .end(received.body)
    })
    const { proxy, events } = await testProxy({ upstreams: { openai: upstream.url } }, { maxBodyBytes: 1_000 })
    const raw = await rawPost(`${proxy.url}/openai/v1/files?purpose=batch`, upload, {
      'content-type': 'multipart/form-data',
    })
    expect(raw.status).toBe(201)
    expect(raw.body.equals(upload)).toBe(true)
    expect(raw.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    expect(upstream.received[0]).toMatchObject({ url: '/v1/files?purpose=batch' })
    expect(upstream.received[0]!.headers['content-length']).toBe(String(upload.length))
    expect(events).toEqual([])
  })

  it('leaves what is no request of the wire to the provider', async () => {
    const upstream = await plainUpstream((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end('{"type":"error"}')
    })
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    for (const body of ['{"messages": [', '[]', '"text"', '', '{"messages":{}}']) {
      const response = await post(`${proxy.url}/anthropic/v1/messages`, body)
      expect([body, response.status, await response.text()]).toEqual([body, 400, '{"type":"error"}'])
      expect(upstream.received.at(-1)!.body.toString()).toBe(body)
    }
  })

  it('does not look at a request that opts out', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY, { 'x-plimsoll-policy': 'off' })
    expect(await response.text()).toBe(MESSAGE)
    expect(response.headers.get('x-plimsoll-load')).toBeNull()
    expect(upstream.received[0]!.headers['x-plimsoll-policy']).toBeUndefined()
    expect(events).toEqual([])
  })

  it('finds the upstream at the root where the path or a header leaves no doubt', async () => {
    const servers = await Promise.all(
      ['anthropic', 'openai', 'gemini'].map((name) => plainUpstream(json(JSON.stringify({ name })))),
    )
    const [anthropic, openai, gemini] = servers.map(({ url }) => url)
    const { proxy } = await testProxy({
      upstreams: { anthropic: anthropic!, openai: `${openai!}/v1`, gemini: gemini! },
    })
    const ask = async (method: string, path: string, headers: Record<string, string> = {}): Promise<string> => {
      const response = await fetch(proxy.url + path, { method, headers, ...(method === 'POST' && { body: '{}' }) })
      return ((await response.json()) as { name: string }).name
    }
    expect(await ask('POST', '/v1/messages')).toBe('anthropic')
    expect(await ask('POST', '/v1/messages/count_tokens')).toBe('anthropic')
    expect(await ask('POST', '/v1/chat/completions')).toBe('openai')
    expect(await ask('POST', '/v1/responses')).toBe('openai')
    expect(await ask('POST', '/v1beta/models/gemini-2.5-pro:generateContent')).toBe('gemini')
    expect(await ask('GET', '/v1beta/models')).toBe('gemini')
    expect(await ask('GET', '/v1/models')).toBe('openai')
    expect(await ask('GET', '/v1/models', { 'anthropic-version': '2023-06-01' })).toBe('anthropic')
    // A base that ends in the version takes a path that begins with it.
    expect(servers[1]!.received.map((received) => received.url)).toEqual([
      '/v1/chat/completions',
      '/v1/responses',
      '/v1/models',
    ])
  })
})

interface Raw {
  readonly status: number
  readonly headers: Record<string, string | string[] | undefined>
  readonly body: Buffer
}

/** `fetch` would unpack; this one does not. */
function rawPost(url: string, body: string | Uint8Array, headers: Record<string, string>): Promise<Raw> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      url,
      { method: 'POST', headers: { 'x-api-key': 'sk-1', 'content-length': Buffer.byteLength(body), ...headers } },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks) }),
        )
      },
    )
    outgoing.on('error', reject)
    outgoing.end(body)
  })
}
