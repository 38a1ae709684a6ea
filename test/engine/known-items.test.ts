import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { chainOf } from '../../src/core/chain.ts'
import { commonPrefix } from '../../src/core/values.ts'
import type { Conversation } from '../../src/core/conversation.ts'
import { createMemo } from '../../src/engine/memo/memo.ts'
import { CLAUDE_CODE } from '../../src/core/identity.ts'
import type { Item, ItemKind } from '../../src/core/item.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { createMeter } from '../../src/meter/index.ts'
import { sha256 as hash } from '../support/hash.ts'
import { property } from '../support/property.ts'

const kinds: readonly ItemKind[] = ['user', 'assistant', 'reasoning', 'call', 'result']

const itemOf = (kind: ItemKind, text: string, message: number): Item => ({
  id: `m${message}`,
  kind,
  role: kind === 'user' ? 'user' : kind === 'result' ? 'tool' : 'assistant',
  text,
  message,
})

/** A history, and how it changes from one request to the next: cut at a place, something else behind it. */
const requests = fc.array(
  fc.record({
    keep: fc.nat(),
    added: fc.array(fc.tuple(fc.constantFrom(...kinds), fc.string({ maxLength: 20 })), { maxLength: 6 }),
  }),
  { minLength: 1, maxLength: 12 },
)

function histories(changes: readonly { keep: number; added: readonly (readonly [ItemKind, string])[] }[]): Item[][] {
  let items: Item[] = []
  return changes.map(({ keep, added }) => {
    const kept = items.slice(0, items.length === 0 ? 0 : items.length - (keep % (items.length + 1)))
    items = [...kept, ...added.map(([kind, text], i) => itemOf(kind, text, kept.length + i))]
    return items
  })
}

const requestOf = (items: readonly Item[]): Conversation => ({
  format: 'anthropic-messages',
  head: [],
  items,
  tools: [],
  settings: { stream: false, reasoning: true },
  source: { format: 'anthropic-messages', value: undefined },
})

describe('work that is found again by the items it was done for', () => {
  it('chains a history as if it had never been seen', () => {
    property(requests, (changes) => {
      const chains = createMemo({ hash, profile: CLAUDE_CODE }).chain
      for (const items of histories(changes)) expect(chains(items)).toEqual(chainOf(items, hash, CLAUDE_CODE))
    })
  })

  it.each(['claude-sonnet-4-5', 'gpt-4.1'])('counts a history for %s as if it had never been seen', (model) => {
    const catalogue = bundledCatalogue()
    const fresh = (items: readonly Item[]): unknown => measured(createMeter({ catalogue }), items)
    const measured = (meter: ReturnType<typeof createMeter>, items: readonly Item[]): unknown =>
      meter.measure(model, requestOf(items), 0)
    property(
      requests,
      (changes) => {
        const meter = createMeter({ catalogue })
        for (const items of histories(changes)) expect(measured(meter, items)).toEqual(fresh(items))
      },
      100,
    )
  })

  it('finds where two texts part, at any distance from the start', () => {
    property(fc.tuple(fc.nat(300_000), fc.string(), fc.string()), ([length, left, right]) => {
      const same = 'x'.repeat(length)
      let expected = length
      while (
        expected - length < Math.min(left.length, right.length) &&
        left[expected - length] === right[expected - length]
      )
        expected++
      expect(commonPrefix(same + left, same + right)).toBe(expected)
    })
  })
})

describe('histories that begin alike', () => {
  it('are counted right after forks', () => {
    const meter = createMeter({ catalogue: bundledCatalogue() })
    const count = (items: readonly Item[], counter = meter): number =>
      counter.measure('gpt-4.1', requestOf(items), 0).raw.tokens
    const one = (text: string, message: number): Item => itemOf('user', text, message)
    const [f, p, l] = [one('first', 0), one('second', 1), one('third', 2)]
    const whole = [f, p, l]
    const others = ['a', 'b', 'c', 'd'].map((text) => [one(text, 0), l])
    const grown = [...whole, one('a long text that one fork goes on with', 3)]
    const fork = [...whole, one('x', 3)]
    const again = [...grown, one('and on', 4)]
    for (const list of [whole, [f, p], ...others, whole, grown, fork]) count(list)
    expect(count(again)).toBe(count(again, createMeter({ catalogue: bundledCatalogue() })))
  })
})
