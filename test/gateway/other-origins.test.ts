import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { json, MESSAGE, ODD_BODY, plainUpstream, testProxy } from './upstream.ts'

/** Node's own fetch sets `Host` and `Sec-Fetch-*` itself. */
const ask = (
  url: string,
  headers: Record<string, string>,
  body?: string,
): Promise<{ status: number; headers: Record<string, unknown> }> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method: body === undefined ? 'GET' : 'POST', headers }, (response) => {
      response.resume().once('end', () => resolve({ status: response.statusCode!, headers: response.headers }))
    })
    sent.once('error', reject).end(body)
  })

const API = { 'content-type': 'application/json', 'x-api-key': 'sk-1' }

describe('who may speak to a proxy on loopback', () => {
  it('answers to local names only', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url }, allowedHosts: ['llm.corp.example'] })
    const { port } = new URL(proxy.url)
    const statuses: Record<string, number> = {}
    const hosts = ['127.0.0.1', 'localhost', 'LOCALHOST.', 'app.localhost', '[::1]', '127.1.2.3', 'llm.corp.example']
    const foreign = [
      'attacker.example',
      '127.0.0.1.attacker.example',
      'localhost.attacker.example',
      '10.0.0.1',
      '[::2]',
    ]
    for (const host of [...hosts, ...foreign]) {
      const answers = [
        await ask(`${proxy.url}/anthropic/v1/messages`, { ...API, host: `${host}:${port}` }, ODD_BODY),
        await ask(`${proxy.url}/plimsoll/api/sessions`, { host }),
        await ask(`${proxy.url}/healthz`, { host: `${host}:1` }),
      ]
      expect(new Set(answers.map(({ status }) => status)).size, host).toBe(1)
      statuses[host] = answers[0]!.status
    }
    expect(statuses).toEqual({
      ...Object.fromEntries(hosts.map((host) => [host, 200])),
      ...Object.fromEntries(foreign.map((host) => [host, 403])),
    })
    expect(upstream.received).toHaveLength(hosts.length)
  })

  it('refuses other origins before it reads a byte of the body', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const { host, port } = new URL(proxy.url)
    const url = `${proxy.url}/anthropic/v1/messages`
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://evil.example:${port}` },
      { origin: 'http://127.0.0.1:1' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { origin: 'https://evil.example', 'content-type': 'text/plain' },
    ]) {
      // The body that is announced never comes.
      expect(
        await new Promise((resolve, reject) => {
          const sent = request(url, { method: 'POST', headers: { ...API, 'content-length': '1000', ...headers } })
          sent.once('response', (response) => {
            sent.destroy()
            resolve(response.statusCode)
          })
          sent.once('error', reject).flushHeaders()
        }),
        JSON.stringify(headers),
      ).toBe(403)
    }
    expect(upstream.received).toHaveLength(0)
    const own: Record<string, string>[] = [{}, { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }]
    for (const headers of own) expect((await ask(url, { ...API, ...headers }, ODD_BODY)).status).toBe(200)
  })

  it('passes no permission of an upstream on to pages', async () => {
    const given = { 'access-control-allow-origin': '*', 'access-control-allow-credentials': 'true' }
    const upstream = await plainUpstream(json(MESSAGE, { ...given, 'timing-allow-origin': '*', 'x-kept': '1' }))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    for (const path of ['/anthropic/v1/messages', '/anthropic/v1/other']) {
      const { headers } = await ask(proxy.url + path, API, ODD_BODY)
      expect(headers['x-kept']).toBe('1')
      expect(Object.keys(headers).filter((name) => /^access-control|^timing/.test(name))).toEqual([])
    }
  })
})

describe('headers of one connection', () => {
  it('stop here when `Connection` names them, in both directions', async () => {
    const upstream = await plainUpstream(
      json(MESSAGE, { connection: 'close, x-hop-back', 'x-hop-back': '1', 'x-kept': '1' }),
    )
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    for (const path of ['/anthropic/v1/messages', '/anthropic/v1/other']) {
      const sent = { ...API, connection: 'X-Hop , close', 'x-hop': 'secret', 'x-end-to-end': '1' }
      const { headers } = await ask(proxy.url + path, sent, ODD_BODY)
      expect(upstream.received.at(-1)!.headers).toMatchObject({ 'x-end-to-end': '1' })
      expect(upstream.received.at(-1)!.headers).not.toHaveProperty('x-hop')
      expect([headers['x-kept'], headers['x-hop-back']]).toEqual(['1', undefined])
    }
  })

  it('bad escapes in a path are a bad request', async () => {
    const { proxy } = await testProxy({ upstreams: {} })
    for (const path of ['/plimsoll/api/sessions/%E0%A4%A', '/v1/retrieve/%E0%A4%A', '/v1/retrieve/%'])
      expect((await ask(proxy.url + path, API)).status, path).toBe(400)
  })

  it('a model call that is passed without being managed says so', async () => {
    const upstream = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const { status, headers } = await ask(`${proxy.url}/anthropic/v1/messages`, API, '{"messages":')
    expect([status, headers['x-plimsoll-verdict']]).toEqual([200, 'bypassed'])
  })
})
