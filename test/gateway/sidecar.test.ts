import { describe, expect, it } from 'vitest'
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

  it('fits into a budget that the caller names', async () => {
    const { proxy } = await testProxy({ upstreams: {} })
    const response = await post(
      `${proxy.url}/v1/compress`,
      JSON.stringify({ model: 'gpt-4.1', messages: chat, token_budget: 6_000 }),
    )
    expect(((await response.json()) as Compressed).tokens_after).toBeLessThan(6_000)
  })
})
