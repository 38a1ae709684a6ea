import { describe, expect, it } from 'vitest'
import { type CacheLife, cacheStateAt, DAY, HOUR, MINUTE } from '../../src/core/cache.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import type { UsageSeen } from '../../src/core/records.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { codecs } from '../../src/formats/registry.ts'
import { createPlimsoll } from '../../src/index.ts'
import { CacheLives } from '../../src/meter/index.ts'
import { createReferee, say } from '../../src/testing/referee/index.ts'

const text = (ttl?: string) => [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral', ttl } }]
const messages = [{ role: 'user', content: 'Hello' }]
const contents = [{ role: 'user', parts: [{ text: 'Hello' }] }]

describe('the lifetime that a request asks for', () => {
  const cases: readonly (readonly [wire: string, what: string, body: object, life: CacheLife | undefined])[] = [
    ['anthropic-messages', 'no mark', { messages }, undefined],
    ['anthropic-messages', 'a mark', { messages: [{ role: 'user', content: text() }] }, { least: 300, most: 300 }],
    [
      'anthropic-messages',
      'an hour',
      { messages: [{ role: 'user', content: text('1h') }] },
      { least: HOUR, most: HOUR },
    ],
    [
      'anthropic-messages',
      'an hour in front, less behind',
      { system: text('1h'), messages: [{ role: 'user', content: text('5m') }] },
      { least: 300, most: 300 },
    ],
    [
      'anthropic-messages',
      'a mark for all',
      { messages, cache_control: { type: 'ephemeral', ttl: '1h' } },
      { least: HOUR, most: HOUR },
    ],
    ['openai-chat', 'nothing', { messages }, undefined],
    ['openai-chat', 'a day', { messages, prompt_cache_retention: '24h' }, { least: HOUR, most: DAY }],
    ['openai-chat', 'memory', { messages, prompt_cache_retention: 'in_memory' }, { least: 5 * MINUTE, most: HOUR }],
    [
      'openai-chat',
      'a mark for a Claude behind it',
      { messages: [{ role: 'user', content: text('1h') }] },
      { least: HOUR, most: HOUR },
    ],
    [
      'openai-responses',
      'half an hour',
      { input: 'Hello', prompt_cache_options: { ttl: '30m' } },
      { least: 30 * MINUTE, most: DAY },
    ],
    ['openai-responses', 'memory', { input: 'Hello', prompt_cache_retention: 'in-memory' }, { least: 300, most: HOUR }],
    ['gemini', 'nothing', { contents }, undefined],
    ['gemini', 'cached content', { contents, cachedContent: 'cachedContents/1' }, { least: HOUR, most: DAY }],
    ['ollama-chat', 'nothing', { messages }, undefined],
  ]

  it.each(cases)('%s: %s', (wire, _, body, life) => {
    const codec = codecs.get(wire)!
    expect(codec.decode(JSON.stringify({ model: 'm', ...body })).settings.cacheLife).toEqual(life)
  })
})

describe('the lifetime by model', () => {
  it.each([
    ['claude-sonnet-4-5', 5 * MINUTE, 5 * MINUTE],
    ['gpt-4o', 5 * MINUTE, HOUR],
    ['gpt-4.1', 5 * MINUTE, DAY],
    ['gpt-5.1', 5 * MINUTE, DAY],
    ['gpt-5.5', 10 * MINUTE, DAY],
    ['gpt-5.6', 30 * MINUTE, DAY],
    ['gemini-2.5-pro', 5 * MINUTE, DAY],
    ['deepseek-chat', HOUR, 7 * DAY],
  ])('%s', (model, least, most) => {
    expect(bundledCatalogue().resolve(model).info.price?.cacheLife).toEqual({ least, most })
  })
})

describe('what answers show', () => {
  const where = { model: 'm', endpoint: 'http://localhost' }
  const nominal = { least: 300, most: 300 }

  it('a prefix that is read after its end lives longer, at that endpoint alone, until a miss', () => {
    const lives = new CacheLives()
    lives.observe(where, nominal, 900, true)
    expect(lives.life(where, nominal)).toEqual({ least: 900, most: 900 })
    expect(lives.life({ ...where, endpoint: 'http://other' }, nominal)).toEqual(nominal)
    lives.observe(where, nominal, 600, false)
    expect(lives.life(where, nominal)).toEqual(nominal)
  })

  it('three misses before it shorten it, unless what lived longer refutes them', () => {
    const lives = new CacheLives()
    for (const age of [100, 120]) lives.observe(where, nominal, age, false)
    expect(lives.life(where, nominal)).toEqual(nominal)
    lives.observe(where, nominal, 200, true)
    lives.observe(where, nominal, 100, false)
    expect(lives.life(where, nominal)).toEqual(nominal)
    for (const age of [80, 90]) lives.observe(where, nominal, age, false)
    expect(lives.life(where, nominal)).toEqual({ least: 80, most: 80 })
  })

  it('a bound that is only known to be somewhere gets closer', () => {
    const lives = new CacheLives()
    const wide = { least: 300, most: DAY }
    lives.observe(where, wide, 4_000, false)
    expect(lives.life(where, wide)).toEqual({ least: 300, most: 4_000 })
    lives.observe(where, wide, 1_000, true)
    expect(lives.life(where, wide)).toEqual({ least: 1_000, most: 4_000 })
    expect([900, 2_000, 5_000].map((age) => cacheStateAt(age, lives.life(where, wide)))).toEqual([
      'warm',
      'unknown',
      'cold',
    ])
  })
})

describe('each call', () => {
  const words = (seed: number): string =>
    Array.from({ length: 600 }, (_, at) => `w${(seed + at * 7919) % 9973}`).join(' ')
  const body = (turns: number, ttl: string): string =>
    JSON.stringify({
      model: 'claude-sonnet-4-5',
      max_tokens: 100,
      messages: Array.from({ length: turns }, (_, at) => ({
        role: at % 2 === 0 ? 'user' : 'assistant',
        content: [
          { type: 'text', text: words(at), ...(at === turns - 1 && { cache_control: { type: 'ephemeral', ttl } }) },
        ],
      })),
    })

  it.each([
    ['5m', ['warm', 'cold', 'cold']],
    ['1h', ['warm', 'warm', 'cold']],
  ])('keeps what was predicted of its cache in the log: marks of %s', async (ttl, predicted) => {
    let now = Date.UTC(2026, 0, 5)
    const clock = { now: () => now }
    const store = memoryStore()
    const referee = createReferee({ wire: 'anthropic-messages', window: 100_000, clock, script: () => say('Done.') })
    const plimsoll = createPlimsoll({ store, artifacts: 'memory:', clock, fetch: referee.fetch })
    const headers = {
      'content-type': 'application/json',
      'x-api-key': 'k',
      'anthropic-version': '2023-06-01',
      'x-plimsoll-session': 's',
    }
    for (const [call, wait] of [0, 60, 1_200, 7_200].entries()) {
      now += wait * 1_000
      const request = { method: 'POST', headers, body: body(3 + 2 * call, ttl) }
      const answer = await plimsoll.fetch('http://referee.test/v1/messages', request)
      expect(answer.status, await answer.text()).toBe(200)
    }
    const logged = async (): Promise<UsageSeen[]> => {
      const found: UsageSeen[] = []
      for await (const { record } of store.read('local', 's')) if (record.type === 'usage') found.push(record)
      return found
    }
    await expect.poll(async () => (await logged()).length).toBe(4)
    const calls = await logged()
    await plimsoll.close()
    expect(calls.slice(1).map(({ cache }) => cache?.predicted)).toEqual(predicted)
    const came = calls.slice(1).map(({ usage }) => (usage!.cacheRead > 0 ? 'warm' : 'cold'))
    expect(came).toEqual(predicted)
  })
})
