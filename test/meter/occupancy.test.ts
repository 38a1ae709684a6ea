import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Item, ItemKind } from '../../src/core/item.ts'
import type { Usage } from '../../src/core/usage.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import {
  type Anchor,
  createMeter,
  looksTruncated,
  type Measurement,
  occupancy,
  straddles,
} from '../../src/meter/index.ts'

const MODEL = 'claude-sonnet-4-5'
const meter = createMeter({ catalogue: bundledCatalogue() })
const usageOf = (input: number, output: number): Usage => ({
  input,
  cacheRead: 0,
  cacheWrite: 0,
  output,
  reasoning: 0,
})

function item(kind: ItemKind, text: string): Item {
  const role = kind === 'result' ? 'tool' : kind === 'user' ? 'user' : 'assistant'
  return { id: text.slice(0, 8), kind, role, text, message: 0 }
}

function conversation(items: readonly Item[]): Conversation {
  return {
    format: 'anthropic-messages',
    head: [],
    items,
    tools: [],
    settings: { stream: false, reasoning: false },
    source: { format: 'anthropic-messages', value: undefined },
  }
}

const measure = (body: Conversation): Measurement => meter.measure(MODEL, body, 0)

describe('occupancy', () => {
  const first = conversation([item('user', 'look at this')])
  const answered = [...first.items, item('assistant', 'I will.'), item('call', '{"path":"a.ts"}')]
  const { raw, parts } = measure(first)
  const anchor: Anchor = {
    prompt: 94_000,
    output: 70,
    reasoning: 0,
    items: first.items.length,
    standing: parts.head + parts.tools,
    rawTokens: raw.tokens,
  }

  it('is measured prompt + output + estimate of what came since', () => {
    const result = item('result', 'line of output\n'.repeat(2000))
    const next = conversation([...answered, result])
    const load = occupancy(meter, MODEL, next, measure(next), anchor)
    expect(load.count.tokens).toBe(
      Math.round(94_000 + 70 + meter.measureItems(MODEL, [result], 'anthropic-messages').count.tokens),
    )
    // The new result alone passes a limit that the last usage was below.
    expect(load.count.high).toBeGreaterThan(100_000)
  })

  it('is an estimate when the anchor is of another epoch, or covers items that are gone', () => {
    const next = conversation(answered)
    const plain = measure(next)
    expect(occupancy(meter, MODEL, next, plain, { ...anchor, epoch: 'e1' }, 'e2')).toBe(plain)
    expect(occupancy(meter, MODEL, next, plain, { ...anchor, items: 99 })).toBe(plain)
    expect(occupancy(meter, MODEL, next, plain, undefined)).toBe(plain)
  })

  it('leaves out reasoning that the client does not send back', () => {
    const next = conversation([...answered, item('user', 'go on')])
    const thinking = conversation([
      ...first.items,
      item('reasoning', 'hmm'),
      ...answered.slice(1),
      item('user', 'go on'),
    ])
    const reasoned: Anchor = { ...anchor, output: 5070, reasoning: 5000 }
    const without = occupancy(meter, MODEL, next, measure(next), reasoned).count.tokens
    const sentBack = occupancy(meter, MODEL, thinking, measure(thinking), reasoned).count.tokens
    expect(sentBack - without).toBe(5000)
  })

  it('counts an answer itself when the report holds reasoning that was neither itemised nor sent back', () => {
    const next = conversation([...answered, item('user', 'go on')])
    const load = occupancy(meter, MODEL, next, measure(next), { ...anchor, output: 4000 })
    expect(load.count.tokens).toBeLessThan(94_300)
  })

  it('does not believe an output of one token for a long answer', () => {
    const long = [...first.items, item('assistant', 'word '.repeat(3000))]
    const next = conversation(long)
    const load = occupancy(meter, MODEL, next, measure(next), { ...anchor, output: 1 })
    expect(load.count.tokens).toBeGreaterThan(96_000)
  })

  it('does not believe an output that is less than the answer holds', () => {
    const answer = item('assistant', 'word '.repeat(3000))
    const next = conversation([...first.items, answer])
    const { low, tokens } = meter.measureItems(MODEL, [answer], 'anthropic-messages').count
    const load = occupancy(meter, MODEL, next, measure(next), { ...anchor, output: Math.floor(low * 0.9) })
    expect(load.count.tokens).toBe(Math.round(94_000 + tokens))
  })

  it('follows tools and system text that change between calls', () => {
    const next = conversation(answered)
    const tools = [{ name: 't', text: 'parameter '.repeat(500) }]
    const before = occupancy(meter, MODEL, next, measure(next), anchor).count.tokens
    const withTools = { ...next, tools }
    expect(occupancy(meter, MODEL, withTools, measure(withTools), anchor).count.tokens).toBeGreaterThan(before + 500)
  })

  it('notices a server that cut the prompt without a word', () => {
    const long = conversation([item('user', 'word '.repeat(20_000))])
    expect(looksTruncated(measure(long), usageOf(4096, 10))).toBe(true)
    expect(looksTruncated(measure(long), usageOf(20_000, 10))).toBe(false)
    expect(looksTruncated(measure(long), undefined)).toBe(false)
  })
})

describe('straddles', () => {
  it('is true where the interval does not say on which side of a threshold a load is', () => {
    const count = { tokens: 100, low: 90, high: 110, source: 'estimate' } as const
    expect([80, 90, 100, 110, 120].map((threshold) => straddles({ count }, threshold))).toEqual([
      false,
      true,
      true,
      false,
      false,
    ])
  })
})
