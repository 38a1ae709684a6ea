import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import type { EventBody } from '../../src/core/events.ts'
import type { Item, ItemKind } from '../../src/core/item.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createTokenizers } from '../../src/drivers/tokenizers/tokenizers.ts'
import { createMeter } from '../../src/meter/index.ts'

const catalogue = bundledCatalogue()
const words = (tokens: number): string => 'limit '.repeat(tokens).trim()

function item(kind: ItemKind, text: string, more: Partial<Item> = {}): Item {
  const role = kind === 'instruction' ? 'system' : kind === 'result' ? 'tool' : kind === 'user' ? 'user' : 'assistant'
  return { id: `${kind}-${text.length}`, kind, role, text, message: 0, ...more }
}

function conversation(items: readonly Item[], more: Partial<Conversation> = {}): Conversation {
  return {
    format: 'openai-chat',
    head: [],
    items,
    tools: [],
    settings: { stream: false, reasoning: false },
    source: { format: 'openai-chat', value: undefined },
    ...more,
  }
}

describe('meter', () => {
  it("counts a text request of OpenAI's exactly once its tokenizer is loaded", async () => {
    const tokenizers = createTokenizers()
    expect(await tokenizers.load('o200k')).toBe(true)
    const meter = createMeter({ catalogue, tokenizerFor: tokenizers.get })
    const body = conversation(
      [item('user', 'Hello, world!', { message: 1 }), item('assistant', 'Hi there.', { message: 2 })],
      {
        head: [item('instruction', 'You are terse.')],
      },
    )
    // 3 + per message (4 + content): content is 4 + 3 + 4 tokens.
    expect(meter.measure('gpt-4o', body, 100).raw.tokens).toBe(3 + 3 * 4 + 4 + 3 + 4)
    expect(meter.countText('gpt-4o', 'Hello, world!')).toEqual({ tokens: 4, low: 4, high: 4, source: 'exact' })
  })

  it('estimates without any vocabulary, and says so', () => {
    const meter = createMeter({ catalogue })
    const count = meter.countText('gpt-4o', 'Hello, world!')
    expect(count.source).toBe('estimate')
    expect(count.low).toBeLessThanOrEqual(4)
    expect(count.high).toBeGreaterThanOrEqual(4)
  })

  it.each(['instruction', 'user', 'assistant', 'reasoning', 'call', 'result', 'media', 'opaque'] as const)(
    'sees 10,000 tokens in an item of kind %s',
    (kind) => {
      const meter = createMeter({ catalogue })
      const { high } = meter.countItem('claude-sonnet-4-5', item(kind, words(10_000)))
      expect(high).toBeGreaterThan(8000)
    },
  )

  it('counts system text, tools, framing and items apart and together', () => {
    const meter = createMeter({ catalogue })
    const tools = [
      { name: 'read', text: JSON.stringify({ name: 'read', description: words(300), parameters: { type: 'object' } }) },
    ]
    const { parts, raw } = meter.measure(
      'claude-sonnet-4-5',
      conversation([item('user', words(100))], { head: [item('instruction', words(50))], tools }),
      0,
    )
    expect(parts.tools).toBeGreaterThan(600)
    expect(parts.head).toBeGreaterThan(40)
    expect(parts.head + parts.tools + parts.items + parts.framing).toBeCloseTo(raw.tokens, -1)
  })

  it.each([0, 30, 300])('prices %i tools by the size of their declarations', (number) => {
    const meter = createMeter({ catalogue })
    const declaration = JSON.stringify({
      type: 'function',
      function: { name: 'look_up', description: 'Looks up a customer by id.', parameters: {} },
    })
    const tools = Array.from({ length: number }, (_, index) => ({ name: `t${index}`, text: declaration }))
    const without = meter.measure('gpt-4o', conversation([item('user', 'hi')]), 0).raw.tokens
    const withTools = meter.measure('gpt-4o', conversation([item('user', 'hi')], { tools }), 0).raw.tokens
    // A message around them, and one blank line less for each that follows another.
    const declared = Math.ceil(number * meter.countText('gpt-4o', declaration).tokens * 0.62)
    const expected = number === 0 ? 0 : 16 + declared - number
    expect(withTools - without).toBeCloseTo(expected, -1)
  })

  it('costs only the new item after an append', () => {
    let counted = 0
    const meter = createMeter({
      catalogue,
      tokenizerFor: () => ({
        name: 'spy',
        count(text) {
          counted += text.length
          return { tokens: text.length, low: text.length, high: text.length, source: 'exact' }
        },
      }),
    })
    const items = Array.from({ length: 50 }, (_, index) => item('user', `message number ${index}`, { message: index }))
    meter.measure('gpt-4o', conversation(items), 0)
    counted = 0
    meter.measure('gpt-4o', conversation([...items, item('user', 'new', { message: 50 })]), 0)
    expect(counted).toBe('new'.length)
    // A client that resends gives new objects with the same content.
    counted = 0
    meter.measure('gpt-4o', conversation(items.map((old) => ({ ...old }))), 0)
    expect(counted).toBe(0)
  })

  it('counts with the exact tokenizer as soon as it is there', async () => {
    const tokenizers = createTokenizers()
    const meter = createMeter({ catalogue, tokenizerFor: tokenizers.get })
    const one = item('user', words(200))
    expect(meter.countItem('gpt-4o', one).source).toBe('estimate')
    await tokenizers.load('o200k')
    expect(meter.countItem('gpt-4o', one)).toMatchObject({ source: 'exact', tokens: 200 })
  })

  it('falls back to the estimator when a tokenizer throws, with one event', () => {
    const events: EventBody[] = []
    const meter = createMeter({
      catalogue,
      onEvent: (event) => events.push(event),
      tokenizerFor: () => ({
        name: 'broken',
        count() {
          throw new Error('unreachable')
        },
      }),
    })
    expect(meter.countText('gpt-4o', 'some text').source).toBe('estimate')
    expect(meter.countText('gpt-4o', 'other text').source).toBe('estimate')
    expect(events).toEqual([{ type: 'degraded', what: 'tokenizer broken', cause: 'unreachable' }])
  })

  it('warns once about a model that nobody knows', () => {
    const events: EventBody[] = []
    const meter = createMeter({ catalogue, onEvent: (event) => events.push(event) })
    meter.countText('nobody-knows', 'a')
    meter.countText('nobody-knows', 'b')
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({ type: 'warning', topic: 'unknown-model' })
  })

  it('takes sealed reasoning from the response that issued it, and states it as unknown otherwise', () => {
    const sealed = item('reasoning', '', { sealed: true })
    const blind = createMeter({ catalogue })
    expect(blind.countItem('gpt-5', sealed)).toMatchObject({ source: 'unknown', low: 0 })
    expect(blind.countItem('gpt-5', sealed).high).toBeGreaterThan(0)
    // A ciphertext shows how much it may hide at most; decisions go by what it likely hides.
    const small = blind.countItem('gpt-5', { ...sealed, sealedCharacters: 1_000 })
    expect(small).toMatchObject({ tokens: 200, low: 0, high: 200, unsure: 200, source: 'unknown' })
    const told = { model: 'gpt-5', hidden: new Map([['tail', 777]]) }
    const known = { ...sealed, seal: 'tail' }
    expect(blind.countItem(told, known)).toEqual({ tokens: 777, low: 777, high: 777, source: 'provider' })
    // Another session does not know the answer that it came in.
    expect(blind.countItem('gpt-5', known).source).toBe('unknown')
  })

  it('counts what is sealed anew once it is known, and for each session as that one knows it', () => {
    const meter = createMeter({ catalogue })
    const items = [
      item('user', 'first', { message: 0 }),
      item('reasoning', '', { message: 1, sealed: true, sealedCharacters: 4_000, seal: 'tail' }),
      item('call', '{}', { message: 1, callId: 'c', toolName: 'read' }),
    ]
    const body = (more: number) =>
      conversation([...items, ...Array.from({ length: more }, (_, i) => item('result', `${i}`, { message: 2 + i }))], {
        format: 'openai-responses',
      })
    const [mine, other] = [new Map<string, number>(), new Map<string, number>()]
    const tokens = (hidden: ReadonlyMap<string, number>, more: number): number =>
      meter.measure({ model: 'gpt-5.1', hidden }, body(more), 0).raw.tokens
    const guess = tokens(mine, 0)
    mine.set('tail', 50_000)
    expect(tokens(mine, 1)).toBeGreaterThan(49_000)
    expect(tokens(other, 1)).toBeLessThan(guess + 50)
    expect(tokens(mine, 2)).toBeGreaterThan(49_000)
    expect(tokens(other, 3)).toBeLessThan(guess + 50)
  })

  it('counts no thinking of finished turns on models that forget it', () => {
    const meter = createMeter({ catalogue })
    const items = [
      item('user', 'first', { message: 0 }),
      item('reasoning', words(5000), { message: 1 }),
      item('assistant', 'done', { message: 1 }),
      item('user', 'second', { message: 2 }),
    ]
    const body = conversation(items, { format: 'anthropic-messages' })
    expect(meter.measure('claude-sonnet-4-5', body, 0).raw.tokens).toBeLessThan(200)
    expect(meter.measure('claude-opus-4-6', body, 0).raw.tokens).toBeGreaterThan(4000)
  })

  it('carries the bytes it was given', () => {
    expect(createMeter({ catalogue }).measure('gpt-4o', conversation([]), 12_345).bytes).toBe(12_345)
  })
})
