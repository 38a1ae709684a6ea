import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { json, plainUpstream, post, testProxy, type PlainUpstream } from './upstream.ts'

const MB = 1024 * 1024
const filler = (bytes: number): Buffer => Buffer.alloc(bytes, 65)
const PACK = {
  gzip: (bytes: Buffer) => gzipSync(bytes, { level: 1 }),
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
}

/** What an answer begins with, and far too much of the same letter behind it. */
const BOMBS = (
  [
    ['text/event-stream', 'data: '],
    ['application/json', '{"error":{"message":"'],
  ] as const
).flatMap(([type, before]) => {
  const plain = Buffer.concat([Buffer.from(before), filler(100 * MB)])
  return (['gzip', 'br'] as const).map((encoding) => ({ type, encoding, packed: PACK[encoding](plain), plain }))
})

const PATHS = {
  anthropic: '/anthropic/v1/messages',
  chat: '/openai/v1/chat/completions',
  responses: '/openai/v1/responses',
  gemini: '/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse',
} as const

const tool = { type: 'object', properties: {} }
const BODIES: Readonly<Record<keyof typeof PATHS, object>> = {
  anthropic: { model: 'claude-sonnet-4-5', max_tokens: 64, messages: [{ role: 'user', content: 'Hi' }] },
  chat: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] },
  responses: { model: 'gpt-4o', input: [{ role: 'user', content: 'Hi' }] },
  gemini: { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
}
const TOOLS: Readonly<Record<keyof typeof PATHS, object>> = {
  anthropic: { tools: [{ name: 'bash', input_schema: tool }] },
  chat: { tools: [{ type: 'function', function: { name: 'bash', parameters: tool } }] },
  responses: { tools: [{ type: 'function', name: 'bash', parameters: tool }] },
  gemini: { tools: [{ functionDeclarations: [{ name: 'bash' }] }] },
}

/** The bytes of an answer as they travelled: `fetch` would unpack them. */
const raw = (url: string, body: object): Promise<{ status: number; encoding: string | undefined; bytes: number }> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'accept-encoding': 'gzip, br, deflate' }
    const sent = request(url, { method: 'POST', headers }, (response) => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => (bytes += chunk.length))
      response.once('error', reject)
      response.once('end', () =>
        resolve({ status: response.statusCode!, encoding: response.headers['content-encoding'], bytes }),
      )
    })
    sent.once('error', reject).end(JSON.stringify(body))
  })

const packedUpstream = (packed: Buffer, type: string, encoding: string): Promise<PlainUpstream> =>
  plainUpstream(
    (_request, response) =>
      void response.writeHead(200, { 'content-type': type, 'content-encoding': encoding }).end(packed),
  )

describe('an answer that comes packed although it was asked for plain', () => {
  it.each(Object.keys(PATHS) as (keyof typeof PATHS)[])('passes unpacked on %s, and is not kept', async (wire) => {
    for (const { type, encoding, packed, plain } of BOMBS) {
      const upstream = await packedUpstream(packed, type, encoding)
      const places = { anthropic: upstream.url, openai: upstream.url, gemini: upstream.url }
      const { proxy, events } = await testProxy({ upstreams: places }, { tools: false })
      const before = process.memoryUsage().rss
      const answer = await raw(proxy.url + PATHS[wire], BODIES[wire])
      expect(answer).toEqual({ status: 200, encoding: undefined, bytes: plain.length })
      expect(upstream.received[0]?.headers['accept-encoding']).toBe('identity')
      await expect.poll(() => events.at(-1)?.type).toBe('request-forwarded')
      expect((process.memoryUsage().rss - before) / MB).toBeLessThan(300)
    }
  })

  it('passes whole where it may hold a hidden step', async () => {
    for (const type of ['text/event-stream', 'application/json']) {
      for (const wire of Object.keys(PATHS) as (keyof typeof PATHS)[]) {
        const plain = Buffer.concat([Buffer.from(type === 'text/event-stream' ? 'data: ' : '{"a":"'), filler(20 * MB)])
        const upstream = await packedUpstream(PACK.gzip(plain), type, 'gzip')
        const places = { anthropic: upstream.url, openai: upstream.url, gemini: upstream.url }
        const { proxy } = await testProxy({ upstreams: places })
        const answer = await raw(proxy.url + PATHS[wire], { ...BODIES[wire], ...TOOLS[wire] })
        expect(answer, `${wire} ${type}`).toEqual({ status: 200, encoding: undefined, bytes: plain.length })
      }
    }
  })

  it.each(['gzip, gzip', 'gzip, br', 'constructor'])('passes as it came where it is %s', async (encoding) => {
    const packed = gzipSync(gzipSync(filler(10 * MB)))
    for (const type of ['text/event-stream', 'application/json']) {
      const upstream = await packedUpstream(packed, type, encoding)
      const { proxy, events } = await testProxy({ upstreams: { openai: upstream.url } })
      const answer = await raw(proxy.url + PATHS.chat, { ...BODIES.chat, ...TOOLS.chat, stream: true })
      expect(answer).toEqual({ status: 200, encoding, bytes: packed.length })
      await expect.poll(() => events.at(-1)?.type, { timeout: 20_000 }).toBe('request-forwarded')
    }
  })

  it('an error body that is too long to be one passes whole', async () => {
    const body = Buffer.concat([Buffer.from('{"error":{"message":"'), filler(3 * MB), Buffer.from('"}}')])
    const upstream = await plainUpstream((_request, response) => void response.writeHead(500).end(body))
    const { proxy } = await testProxy({ upstreams: { openai: upstream.url } })
    expect(await raw(proxy.url + PATHS.chat, BODIES.chat)).toMatchObject({ status: 500, bytes: body.length })
  })
})

describe('a packed request', () => {
  it('is refused when it is packed more than once', async () => {
    const upstream = await plainUpstream(json('{}'))
    const { proxy } = await testProxy({ upstreams: { openai: upstream.url } })
    const body = JSON.stringify(BODIES.chat)
    const send = (bytes: Buffer, encoding: string): Promise<Response> =>
      post(proxy.url + PATHS.chat, bytes, { 'content-encoding': encoding })
    for (const encoding of ['gzip, gzip', 'deflate,gzip', 'gzip, identity, br'])
      expect((await send(gzipSync(gzipSync(body)), encoding)).status, encoding).toBe(415)
    expect((await send(gzipSync(body), 'gzip, identity')).status).toBe(200)
    expect((await send(gzipSync(body), 'toString')).status).toBe(415)
    expect(upstream.received).toHaveLength(1)
  })
})
