import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { post, testProxy } from './upstream.ts'

const log = (i: number, lines: number): string =>
  Array.from({ length: lines }, (_, n) => `log ${i} line ${n} ok`).join('\n')

const chat = [
  { role: 'system', content: 'You are an engineer.' },
  { role: 'user', content: 'Go' },
  ...Array.from({ length: 8 }, (_, i) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: `c${i}`, type: 'function', function: { name: 'bash', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: `c${i}`, content: log(i, i === 7 ? 4_000 : 40) },
  ]).flat(),
]

const anthropic = [
  { role: 'user', content: 'Go' },
  { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'bash', input: {} }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: log(1, 4_000) }] },
]

interface Compressed {
  messages: { content: unknown }[]
  tokens_before: number
  tokens_after: number
  compression_ratio: number
  ccr_hashes: string[]
}

describe('the sidecar contract', () => {
  it.each([
    ['chat completions', chat, log(7, 4_000)],
    ['the Messages API', anthropic, log(1, 4_000)],
  ])('gives %s back smaller, and what it took out by its hash', async (_name, messages, original) => {
    const { proxy } = await testProxy({ upstreams: {} }, { window: 16_000 })
    const response = await post(`${proxy.url}/v1/compress`, JSON.stringify({ model: 'gpt-4.1', messages }))
    const out = (await response.json()) as Compressed
    expect(response.status).toBe(200)
    expect(out.tokens_after).toBeLessThan(out.tokens_before / 2)
    expect(out.compression_ratio).toBeCloseTo(out.tokens_after / out.tokens_before)
    const [hash] = out.ccr_hashes
    expect(JSON.stringify(out.messages)).toContain(`hash=${hash}`)
    for (const method of ['GET', 'POST']) {
      const found = await fetch(`${proxy.url}/v1/retrieve/${hash}`, { method, headers: { 'x-api-key': 'sk-1' } })
      expect(((await found.json()) as { original_content: string }).original_content).toBe(original)
    }
    // Another key's hash is nobody's.
    expect((await fetch(`${proxy.url}/v1/retrieve/${hash}`, { headers: { 'x-api-key': 'sk-2' } })).status).toBe(404)
    expect((await fetch(`${proxy.url}/v1/retrieve/..%2f..%2fetc%2fpasswd`)).status).toBe(404)
  })

  it('leaves alone what fits, and says what it needs', async () => {
    const { proxy } = await testProxy({ upstreams: {} })
    const messages = [{ role: 'user', content: 'Hi' }]
    const small = await post(`${proxy.url}/v1/compress`, JSON.stringify({ model: 'gpt-4.1', messages }))
    expect(await small.json()).toMatchObject({ messages, compression_ratio: 1, ccr_hashes: [] })
    expect((await post(`${proxy.url}/v1/compress`, '{"model":"m"}')).status).toBe(400)
    expect((await post(`${proxy.url}/v1/compress`, 'nonsense')).status).toBe(400)
  })

  it('publishes what it put away, and no handle that somebody wrote', async () => {
    const store = memoryStore()
    const published: string[] = []
    const watched: typeof store = {
      ...store,
      async setValue(tenant, key, ...rest) {
        if (key.startsWith('retrieve:')) published.push(key)
        return store.setValue(tenant, key, ...rest)
      },
    }
    const { proxy } = await testProxy({ upstreams: {} }, { store: watched })
    const invented = Array.from({ length: 2_000 }, (_, n) => `art_${String(n).padStart(26, '0')}`)
    // One stays in view; one is folded away, so that the record quotes it.
    const messages = [
      chat[0],
      { role: 'user', content: `Keep ${invented.slice(0, 1_000).join(' ')} in mind` },
      ...chat.slice(2),
      { role: 'assistant', content: `Noted: ${invented.slice(1_000, 1_010).join(' ')}` },
      { role: 'user', content: `Look at ${invented.slice(1_010).join(' ')}` },
    ]
    const ask = async (): Promise<Compressed> => {
      const body = JSON.stringify({ model: 'gpt-4.1', messages, token_budget: 70_000 })
      const response = await post(`${proxy.url}/v1/compress`, body)
      return (await response.json()) as Compressed
    }
    const { ccr_hashes, messages: out } = await ask()
    expect(ccr_hashes.length).toBeGreaterThan(0)
    expect(published).toEqual(ccr_hashes.map((hash) => `retrieve:${hash}`))
    const text = JSON.stringify(out)
    expect(text).toContain(`${invented[0]} `)
    expect(text.match(/art_0{10,}\w+ hash=/g)).toBeNull()
    for (const hash of ccr_hashes) expect(text).toContain(` hash=${hash}`)
    // Asked again it says the same.
    expect((await ask()).messages).toEqual(out)
  })

  it('fits into a budget that the caller names', async () => {
    const { proxy } = await testProxy({ upstreams: {} })
    const response = await post(
      `${proxy.url}/v1/compress`,
      JSON.stringify({ model: 'gpt-4.1', messages: chat, token_budget: 6_000 }),
    )
    expect(((await response.json()) as Compressed).tokens_after).toBeLessThan(6_000)
  })
})

/** As LiteLLM's guardrail calls (`guardrail: headroom`, read in its source): these two requests and this pattern, nothing else. */
describe('LiteLLM’s guardrail', () => {
  const HASH = /hash=([a-f0-9]{24})/g
  const headers = { 'Content-Type': 'application/json', Authorization: 'Bearer the-token' }

  it('compresses before the call, finds its hashes, and gets the originals', async () => {
    const { proxy } = await testProxy({ upstreams: {}, token: 'the-token' }, { window: 16_000 })
    const compress = await fetch(`${proxy.url}/v1/compress`, {
      method: 'POST',
      body: JSON.stringify({ messages: chat, model: 'gpt-4.1' }),
      headers,
    })
    expect(compress.status).toBe(200)
    const body = (await compress.json()) as Compressed
    // It formats the ratio as a number and takes only a list of objects that is not empty.
    expect(body.compression_ratio.toFixed(2)).toMatch(/^0\.\d\d$/)
    expect(body.messages.length).toBeGreaterThan(0)
    for (const message of body.messages) expect(typeof message).toBe('object')
    const texts = body.messages.flatMap(({ content }) => (typeof content === 'string' ? [content] : []))
    const hashes = texts.flatMap((text) => [...text.matchAll(HASH)].map((match) => match[1]!))
    expect(new Set(hashes)).toEqual(new Set(body.ccr_hashes))
    const found = await fetch(`${proxy.url}/v1/retrieve/${hashes[0]}?query=line+3999`, { headers })
    const { original_content } = (await found.json()) as { original_content: string }
    expect(original_content).toBe(log(7, 4_000))
    const unknown = await fetch(`${proxy.url}/v1/retrieve/${'0'.repeat(24)}`, { headers })
    expect(unknown.status).toBe(404)
  })

  it('is not let in without the token', async () => {
    const { proxy } = await testProxy({ upstreams: {}, token: 'the-token' })
    const ask = (own: Record<string, string>): Promise<Response> =>
      fetch(`${proxy.url}/v1/compress`, {
        method: 'POST',
        body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }] }),
        headers: { 'content-type': 'application/json', ...own },
      })
    expect((await ask({})).status).toBe(401)
    expect((await ask({ authorization: 'Bearer another' })).status).toBe(401)
    expect((await ask({ authorization: 'Bearer the-token' })).status).toBe(200)
    expect((await ask({ 'x-headroom-proxy-token': 'the-token' })).status).toBe(200)
    // A model call's bearer is the provider's, never our token.
    const model = await fetch(`${proxy.url}/openai/v1/models`, { headers: { authorization: 'Bearer the-token' } })
    expect(model.status).toBe(401)
    expect((await fetch(`${proxy.url}/health`)).status).toBe(200)
  })

  it('gets its own messages back when nothing can make them fit', async () => {
    const { proxy } = await testProxy({ upstreams: {} }, { window: 1_000 })
    const messages = [
      { role: 'system', content: 'Instructions are never folded away. '.repeat(400) },
      { role: 'user', content: 'Hi' },
    ]
    const response = await post(`${proxy.url}/v1/compress`, JSON.stringify({ messages, model: 'gpt-4.1' }))
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ messages, compression_ratio: 1 })
  })
})

/** As the SDK of the compressor that this contract comes from, and Portkey's guardrail, call: options beside the messages. */
describe('callers with options', () => {
  it('name their session and budget, and retrieve by POST', async () => {
    const { proxy, events } = await testProxy({ upstreams: {} })
    const response = await post(
      `${proxy.url}/v1/compress`,
      JSON.stringify({
        model: 'gpt-4.1',
        messages: chat,
        token_budget: 12_000,
        config: { mode: 'ccr', session_id: 'conv-8f1c', compress_user_messages: false, protect_recent: 2 },
      }),
    )
    const body = (await response.json()) as Compressed & { transforms_summary: Record<string, number> }
    expect(body.tokens_after).toBeLessThan(12_000)
    expect(Object.values(body.transforms_summary).reduce((a, b) => a + b, 0)).toBeGreaterThan(0)
    expect(events.find((event) => event.type === 'request-prepared')).toMatchObject({ session: 'sidecar-conv-8f1c' })
    const found = await post(`${proxy.url}/v1/retrieve`, JSON.stringify({ hash: body.ccr_hashes[0] }))
    expect(await found.json()).toMatchObject({ original_content: expect.any(String) as string })
  })
})
