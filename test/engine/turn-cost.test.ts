import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Item } from '../../src/core/item.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { createPlimsoll } from '../../src/index.ts'

const told = (i: number): string => `Part ${i} says ${'so and so '.repeat(20)}`

/** A model, and what a step of its agent is on its wire. */
const WIRES = {
  'openai-chat': {
    model: 'gpt-4.1',
    stepOf: (i: number): readonly object[] => [
      {
        role: 'assistant',
        content: `Looking at part ${i}.`,
        tool_calls: [{ id: `c${i}`, type: 'function', function: { name: 'read', arguments: `{"part":${i}}` } }],
      },
      { role: 'tool', tool_call_id: `c${i}`, content: told(i) },
    ],
  },
  // Its thinking is bound to the declared tools, where it thought.
  'anthropic-messages': {
    model: 'claude-sonnet-4-5',
    stepOf: (i: number): readonly object[] => [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: `Looking at part ${i}.` },
          { type: 'tool_use', id: `c${i}`, name: 'read', input: { part: i } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `c${i}`, content: told(i) }] },
    ],
  },
}
type Wire = keyof typeof WIRES

/** Tools of ours that this request must do without: whether they were declared before depends on what the model thought. */
const OFFER = { tools: [{ name: 'look', description: '', parameters: { type: 'object' } }], withheld: true }

const bodyOf = (wire: Wire, steps: number): string => {
  const { model, stepOf } = WIRES[wire]
  const messages = [
    { role: 'user', content: 'Read it all.' },
    ...Array.from({ length: steps }, (_, i) => stepOf(i)).flat(),
  ]
  return JSON.stringify({ model, max_tokens: 1_000, messages })
}

/** How often anything is read from an item, old or new, while a history of so many steps gets one more. */
async function readsOfOneTurn(wire: Wire, steps: number, window: number | undefined): Promise<number> {
  const codec = codecOf(wire)
  let reads = 0
  const watched = new WeakMap<Item, Item>()
  const watch = (item: Item): Item => {
    const known =
      watched.get(item) ??
      new Proxy(item, {
        get: (target, key) => {
          reads++
          return Reflect.get(target, key) as unknown
        },
      })
    watched.set(item, known)
    return known
  }
  const plimsoll = createPlimsoll({ store: 'memory:', ...(window !== undefined && { window }) })
  const session = plimsoll.session({ id: 's' })
  let conversation: Conversation | undefined
  for (const extra of [0, 1, 2, 3]) {
    const body = bodyOf(wire, steps + extra)
    conversation = codec.incremental!.decode(body, conversation)
    reads = 0
    const items = conversation.items.map(watch)
    const { id, load } = await session.prepare({
      format: codec.format,
      body,
      conversation: { ...conversation, items },
      tools: OFFER,
    })
    const usage = { input: Math.round(load.count.tokens), output: 20, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
    await session.record({ turn: id, usage })
  }
  await plimsoll.close()
  return reads
}

describe('a turn of a history that grows', () => {
  const wires = ['openai-chat', 'anthropic-messages'] as const

  it.each(wires)('looks at what is new, however long the history is: %s', async (wire) => {
    expect(await readsOfOneTurn(wire, 200, undefined)).toBe(await readsOfOneTurn(wire, 50, undefined))
  })

  it.each(wires)('looks at what is in view behind an epoch, and not at what it covers: %s', async (wire) => {
    const [short, long] = [await readsOfOneTurn(wire, 150, 8_000), await readsOfOneTurn(wire, 600, 8_000)]
    expect(long / short).toBeLessThan(1.5)
  })
})
