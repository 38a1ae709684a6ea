import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import type { Item } from '../../src/core/item.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { createPlimsoll } from '../../src/index.ts'

const codec = codecOf('openai-chat')

const stepOf = (i: number): readonly object[] => [
  {
    role: 'assistant',
    content: `Looking at part ${i}.`,
    tool_calls: [{ id: `c${i}`, type: 'function', function: { name: 'read', arguments: `{"part":${i}}` } }],
  },
  { role: 'tool', tool_call_id: `c${i}`, content: `Part ${i} says ${'so and so '.repeat(20)}` },
]

const bodyOf = (steps: number): string =>
  JSON.stringify({
    model: 'gpt-4.1',
    messages: [{ role: 'user', content: 'Read it all.' }, ...Array.from({ length: steps }, (_, i) => stepOf(i)).flat()],
  })

/** How often anything is read from an item, old or new, while a history of so many steps gets one more. */
async function readsOfOneTurn(steps: number, window: number | undefined): Promise<number> {
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
    const body = bodyOf(steps + extra)
    conversation = codec.incremental!.decode(body, conversation)
    reads = 0
    const items = conversation.items.map(watch)
    const { id, load } = await session.prepare({
      format: codec.format,
      body,
      conversation: { ...conversation, items },
    })
    const usage = { input: Math.round(load.count.tokens), output: 20, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
    await session.record({ turn: id, usage })
  }
  await plimsoll.close()
  return reads
}

describe('a turn of a history that grows', () => {
  it('looks at what is new, however long the history is', async () => {
    expect(await readsOfOneTurn(200, undefined)).toBe(await readsOfOneTurn(50, undefined))
  })

  it('looks at what is in view behind an epoch, and not at what it covers', async () => {
    const [short, long] = [await readsOfOneTurn(150, 8_000), await readsOfOneTurn(600, 8_000)]
    expect(long / short).toBeLessThan(1.5)
  })
})
