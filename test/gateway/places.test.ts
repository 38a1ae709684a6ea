import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { learnedLimits } from '../../src/engine/learning/learned-limits.ts'
import { checkConfigText, problemLine } from '../../src/settings/index.ts'
import { proxyConfig } from '../../src/settings/apply.ts'
import { createReferee, startReferee, say } from '../../src/testing/referee/index.ts'
import { closeLater, json, MESSAGE, ODD_BODY, plainUpstream, post, testProxy } from './upstream.ts'

const refusing = (status: number, body: string) =>
  plainUpstream(
    (_request, response) => void response.writeHead(status, { 'content-type': 'application/json' }).end(body),
  )

describe('places in order', () => {
  it('moves on when one cannot be reached, is overloaded or throttles', async () => {
    const good = await plainUpstream(json(MESSAGE))
    // A port that was let go may be somebody else's by then.
    const down = 'http://127.0.0.1:1'
    const busy = await refusing(529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
    const slow = await refusing(
      429,
      '{"type":"error","error":{"type":"rate_limit_error","message":"40,000 input tokens per minute"}}',
    )
    const { proxy, events } = await testProxy({ upstreams: { anthropic: [down, busy.url, slow.url, good.url] } })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    expect([response.status, await response.text()]).toEqual([200, MESSAGE])
    expect(good.received[0]!.body.toString()).toBe(ODD_BODY)
    expect(events.filter((event) => event.type === 'degraded')).toHaveLength(3)
  })

  it('stays where the request itself is refused', async () => {
    const first = await refusing(
      400,
      '{"type":"error","error":{"type":"invalid_request_error","message":"no such tool"}}',
    )
    const second = await plainUpstream(json(MESSAGE))
    const { proxy } = await testProxy({ upstreams: { anthropic: [first.url, second.url] } })
    expect((await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)).status).toBe(400)
    expect(second.received).toEqual([])
  })

  it('gives the last one’s own words when all fail', async () => {
    const first = await refusing(500, '{"error":1}')
    const last = await refusing(503, '{"error":2}')
    const { proxy } = await testProxy({ upstreams: { anthropic: [first.url, last.url] } })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, ODD_BODY)
    expect([response.status, await response.text()]).toEqual([503, '{"error":2}'])
  })

  it('skips a place that is too small, with another model and another key for the next', async () => {
    const small = await plainUpstream(json(MESSAGE))
    const large = await plainUpstream(json(MESSAGE))
    const { proxy, events } = await testProxy({
      upstreams: {
        anthropic: [
          { url: small.url, window: 1_200 },
          { url: large.url, model: 'claude-opus-4-6', headers: { 'x-api-key': 'sk-other' } },
        ],
      },
    })
    const system = JSON.stringify('Instructions are never folded away. '.repeat(400))
    const body = `{"system":${system},"messages":[{"role":"user","content":"Hi"}],"max_tokens":64,  "model":"claude-haiku-4-5"}`
    const response = await post(`${proxy.url}/anthropic/v1/messages`, body)
    expect(response.status).toBe(200)
    expect(small.received).toEqual([])
    expect(large.received[0]!.body.toString()).toBe(body.replace('claude-haiku-4-5', 'claude-opus-4-6'))
    expect(large.received[0]!.headers['x-api-key']).toBe('sk-other')
    expect(events.find((event) => event.type === 'verdict-given')).toMatchObject({
      verdict: { kind: 'skip', target: { endpoint: small.url } },
    })
  })

  it('names the model in the path where the wire does', async () => {
    const first = await refusing(500, '{}')
    const referee = await startReferee({ wire: 'gemini', script: [say('Hi')] })
    closeLater(() => referee.close())
    const { proxy } = await testProxy({
      upstreams: { gemini: [first.url, { url: referee.url, model: 'gemini-2.5-flash' }] },
    })
    const response = await post(
      `${proxy.url}/gemini/v1beta/models/gemini-2.5-pro:generateContent?key=abc`,
      '{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}',
      { 'x-goog-api-key': 'k' },
    )
    expect(response.status).toBe(200)
    expect(referee.log[0]!.path).toBe('/v1beta/models/gemini-2.5-flash:generateContent?key=abc')
  })

  it('never leaves the configured hosts and bases', async () => {
    const upstream = await plainUpstream(json('{}'))
    const { proxy } = await testProxy({ upstreams: { openai: `${upstream.url}/team-a` } })
    const { port, hostname } = new URL(proxy.url)
    for (const path of [
      '/openai/../admin',
      '/openai/%2e%2e/admin',
      '/openai/v1/..%2f..%2f..',
      '//evil.test/openai/v1/x',
      '/http://evil.test/',
      '/openai@evil.test/',
    ]) {
      const status = await new Promise<number>((resolve, reject) => {
        request({ port, hostname, path }, (response) => {
          response.resume()
          resolve(response.statusCode ?? 0)
        })
          .on('error', reject)
          .end()
      })
      if (status === 200) expect(upstream.received.at(-1)!.url.startsWith('/team-a/')).toBe(true)
      else expect([400, 404]).toContain(status)
    }
    for (const { url } of upstream.received) expect(new URL(url, 'http://x').pathname.startsWith('/team-a/')).toBe(true)
  })
})

describe('the configuration', () => {
  const parsed = (config: unknown) => checkConfigText(JSON.stringify(config), 'proxy.json')

  it('reads places, and keys from the environment', () => {
    const { config, problems } = parsed({
      port: 0,
      upstreams: {
        openai: [
          'http://a',
          { url: 'http://b', model: 'm', window: 9, headers: { Authorization: 'Bearer $PLIMSOLL_TEST_KEY' } },
        ],
      },
    })
    expect(problems).toEqual([])
    expect(proxyConfig(config, { PLIMSOLL_TEST_KEY: 'sk-from-env' }).upstreams).toEqual({
      openai: [
        { url: 'http://a' },
        { url: 'http://b', model: 'm', window: 9, headers: { authorization: 'Bearer sk-from-env' } },
      ],
    })
  })

  it.each([
    [[], 'group of keys'],
    [{ prot: 1 }, 'no key "prot"'],
    [{ port: 'x' }, 'port must be'],
    [{ port: 1.5 }, 'whole number'],
    [{ upstreams: { openai: {} } }, 'needs a url'],
    [{ upstreams: { 'Open AI': 'http://a' } }, 'path prefix'],
    [{ upstreams: { openai: { url: 'http://a', modle: 'x' } } }, 'modle'],
    [{ upstreams: { openai: { url: 'http://a', wire: 'smtp', model: 'm' } } }, 'anthropic-messages'],
    [{ upstreams: { openai: { url: 'http://a', wire: 'gemini' } } }, 'needs a model'],
  ])('says what is wrong with %j', (config, message) => {
    expect(parsed(config).problems.map(problemLine).join()).toContain(message)
  })

  it('wants the variables that headers name', () => {
    const { config } = parsed({ upstreams: { openai: { url: 'http://a', headers: { a: '$NO_SUCH_VARIABLE' } } } })
    expect(() => proxyConfig(config, {})).toThrow('NO_SUCH_VARIABLE')
  })
})

describe('what endpoints teach', () => {
  it('is kept per tenant, outlives the process and is forgotten after a day', async () => {
    const values = memoryStore()
    let now = 0
    const place = { tenant: 't', endpoint: 'http://a', model: 'm' }
    const first = learnedLimits(values, { now: () => now })
    await first.learn(place, { window: 8_000 }, 'refusal')
    await first.learn(place, { bodyBytes: 100_000 }, 'refusal')
    const second = learnedLimits(values, { now: () => now })
    expect(await second.of(place)).toEqual({ window: 8_000, bodyBytes: 100_000 })
    expect(await second.of({ ...place, tenant: 'u' })).toBeUndefined()
    now = 25 * 3_600_000
    expect(await second.of(place)).toBeUndefined()
  })

  it('recovers a body that is too large in bytes, whatever page the gateway in front answers with', async () => {
    const referee = createReferee({ wire: 'anthropic-messages', bodyLimitBytes: 60_000, bodyLimitStyle: 'html' })
    const upstream = await plainUpstream(async (received, response) => {
      const answer = await referee.handle({
        method: received.method,
        path: received.url,
        headers: received.headers as Record<string, string>,
        body: received.body,
      })
      response.writeHead(answer.status, answer.headers)
      for await (const chunk of answer.body) response.write(chunk)
      response.end()
    })
    const { proxy, events } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const messages: object[] = [{ role: 'user', content: 'Go' }]
    for (let i = 0; i < 12; i++) {
      messages.push(
        { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${i}`, name: 'bash', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${i}`, content: `${i} `.repeat(4_000) }] },
      )
    }
    const body = JSON.stringify({
      model: 'claude-opus-4-6',
      max_tokens: 64,
      messages,
      tools: [{ name: 'bash', input_schema: { type: 'object' } }],
    })
    const response = await post(`${proxy.url}/anthropic/v1/messages`, body)
    expect([response.status, response.headers.get('x-plimsoll-recovered')]).toEqual([200, 'overflow'])
    expect(upstream.received.map(({ body: sent }) => sent.length > 60_000)).toEqual([true, false])
    expect(events.filter((event) => event.type === 'overflow-recovered')).toHaveLength(1)
  })
})
