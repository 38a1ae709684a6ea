import { describe, expect, it } from 'vitest'
import { costOfUsage, simulateUsage, type PriceModel } from '../../src/core/price.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

const PRICE: PriceModel = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75, caching: 'automatic', cacheMinimum: 256 }

/** Characters that two texts begin with in common. */
function commonPrefix(a: string, b: string): number {
  let i = 0
  while (i < a.length && a[i] === b[i]) i++
  return i
}

describe('E1: bytes that were sent', () => {
  it('change only with a declared epoch, and a session of sixty steps costs no more than sending everything', async () => {
    const { session, events } = testEngine()
    const agent = session()
    let changes = 0
    let managed = 0
    let plain = 0
    let before = { sent: '', body: '' }
    for (let steps = 1; steps <= 60; steps++) {
      const body = JSON.stringify(toolLoop({ steps, resultLength: 900 }))
      const { text } = await agent.prepare({ format: ANTHROPIC, body, targets: targets() })
      // The end of the message list moves with every request.
      if (before.sent !== '' && commonPrefix(text, before.sent) < before.sent.length - 2) changes++
      const cost = (now: string, then: string): number =>
        costOfUsage(
          simulateUsage({ tokens: now.length / 4, commonPrefixTokens: commonPrefix(now, then) / 4, outputTokens: 50 }, PRICE),
          PRICE,
        )
      managed += cost(text, before.sent)
      plain += cost(body, before.body)
      before = { sent: text, body }
    }
    const epochs = events.filter((event) => event.type === 'epoch-declared').length
    expect(epochs).toBeGreaterThan(1)
    expect(changes).toBeLessThanOrEqual(epochs)
    expect(managed).toBeLessThanOrEqual(plain)
  })
})
