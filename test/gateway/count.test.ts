import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { call, say } from '../../src/testing/referee/index.ts'
import { stage, toolOutput, WAYS } from '../sdks/ways.ts'
import { json, plainUpstream, post, testProxy } from './upstream.ts'

const MODEL = 'claude-opus-4-6'
const TOOLS: Anthropic.Tool[] = [{ name: 'log', input_schema: { type: 'object' } }]

describe.each(WAYS)('counting tokens through the %s', (way) => {
  it('counts what would be sent: the transcript under what stands for it', async () => {
    const on = await stage(way, {
      referee: {
        wire: 'anthropic-messages',
        window: 8_000,
        script: ({ number }) => (number > 40 ? say('Done.') : call('log', { number })),
      },
      plimsoll: { window: 8_000 },
    })
    const client = new Anthropic({
      apiKey: 'k',
      baseURL: on.base,
      maxRetries: 0,
      ...(on.fetch && { fetch: on.fetch }),
    })
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Go' }]
    for (let step = 0; step < 40; step++) {
      const { content } = await client.messages.create({ model: MODEL, max_tokens: 200, messages, tools: TOOLS })
      const [use] = content.filter((block) => block.type === 'tool_use')
      messages.push(
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: use!.id, content: toolOutput(step) }] },
      )
    }
    const whole = on.referee.countTokens({ model: MODEL, messages, tools: TOOLS })
    const eventsBefore = on.events.length
    const { input_tokens } = await client.messages.countTokens({ model: MODEL, messages, tools: TOOLS })
    expect(on.events.slice(eventsBefore)).toEqual([])
    expect(whole).toBeGreaterThan(9_000)
    expect(input_tokens).toBeLessThan(8_000)
    // The last request and this one differ by one step.
    const sent = on.referee.log.filter((exchange) => exchange.kind === 'generate').at(-1)!
    expect(Math.abs(input_tokens - sent.inputTokens)).toBeLessThan(700)
  })

  it('decides nothing: a question leaves no session and no event', async () => {
    const on = await stage(way, { referee: { wire: 'anthropic-messages' }, plimsoll: { window: 2_000 } })
    const messages = [{ role: 'user', content: 'word '.repeat(20_000) }]
    const response = await on.call('/v1/messages/count_tokens', {
      method: 'POST',
      body: JSON.stringify({ model: MODEL, messages }),
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
    })
    const { input_tokens } = (await response.json()) as { input_tokens: number }
    expect(input_tokens).toBeGreaterThan(10_000)
    expect(response.headers.get('x-plimsoll-counted')).toBe('upstream')
    expect([on.events, on.plimsoll.ledger.sessions()]).toEqual([[], []])
  })
})

describe('an upstream that cannot count', () => {
  it.each([
    [
      'anthropic',
      '/v1/messages/count_tokens',
      { messages: [{ role: 'user', content: 'word '.repeat(1_000) }] },
      'input_tokens',
    ],
    ['openai', '/v1/responses/input_tokens', { input: 'word '.repeat(1_000) }, 'input_tokens'],
    [
      'gemini',
      '/v1beta/models/gemini-2.5-pro:countTokens',
      { contents: [{ role: 'user', parts: [{ text: 'word '.repeat(1_000) }] }] },
      'totalTokens',
    ],
  ] as const)('is answered for by our meter: %s', async (prefix, path, body, field) => {
    const upstream = await plainUpstream((_request, response) => void response.writeHead(404).end('not found'))
    const { proxy } = await testProxy({ upstreams: { [prefix]: upstream.url } })
    const response = await post(`${proxy.url}/${prefix}${path}`, JSON.stringify({ model: 'm', ...body }))
    const counted = (await response.json()) as Record<string, number>
    expect([response.status, response.headers.get('x-plimsoll-counted')]).toEqual([200, 'meter'])
    expect(counted[field]).toBeGreaterThan(800)
    expect(counted[field]).toBeLessThan(1_500)
    expect(upstream.received).toHaveLength(1)
  })

  it('gives each SDK the shape that it reads', async () => {
    const upstream = await plainUpstream((_request, response) => void response.writeHead(405).end())
    const { proxy } = await testProxy({
      upstreams: { anthropic: upstream.url, openai: upstream.url, gemini: upstream.url },
    })
    const anthropic = new Anthropic({ apiKey: 'k', baseURL: `${proxy.url}/anthropic`, maxRetries: 0 })
    const { input_tokens } = await anthropic.messages.countTokens({
      model: MODEL,
      messages: [{ role: 'user', content: 'Hello' }],
    })
    const genai = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: `${proxy.url}/gemini` } })
    const { totalTokens } = await genai.models.countTokens({ model: 'gemini-2.5-pro', contents: 'Hello' })
    const openai = new OpenAI({ apiKey: 'k', baseURL: `${proxy.url}/openai/v1`, maxRetries: 0 })
    const responses = await openai.responses.inputTokens.count({ model: 'gpt-5.2', input: 'Hello' })
    for (const tokens of [input_tokens, totalTokens!, responses.input_tokens]) {
      expect(tokens).toBeGreaterThan(0)
      expect(tokens).toBeLessThan(50)
    }
  })

  it('passes the bytes on as they came, and whatever else the provider says', async () => {
    const odd = '{ "model":"claude-opus-4-6",  "messages":[{"role":"user","content":"Hi"}] }'
    const upstream = await plainUpstream(json('{"input_tokens": 9,"extra":true}'))
    const { proxy } = await testProxy({ upstreams: { anthropic: upstream.url } })
    const response = await post(`${proxy.url}/anthropic/v1/messages/count_tokens`, odd)
    expect(await response.text()).toBe('{"input_tokens": 9,"extra":true}')
    expect(upstream.received[0]!.body.toString()).toBe(odd)
    const off = await post(`${proxy.url}/anthropic/v1/messages/count_tokens`, '{"no":"request"}')
    expect([off.status, upstream.received[1]!.body.toString()]).toEqual([200, '{"no":"request"}'])
  })
})
