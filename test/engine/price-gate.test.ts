import { describe, expect, it } from 'vitest'
import type { PriceModel } from '../../src/core/price.ts'
import { expectedCallsOf, quoteEpoch } from '../../src/engine/epoch/price-gate.ts'
import { createSession, type Session } from '../../src/engine/session/session.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

/** Sonnet 4.5. */
const CACHED: PriceModel = {
  input: 3,
  output: 15,
  cacheRead: 0.3,
  cacheWrite: 3.75,
  caching: 'marks',
  cacheMinimum: 1_024,
  cacheLife: { least: 300, most: 300 },
}
const UNCACHED: PriceModel = { input: 3, output: 15, caching: 'none' }

describe('the price of an epoch', () => {
  // By hand: keep reads 100,000 at 0.3 a call = $0.03. The epoch reads 10,000 and writes 30,000 once = $0.1155, then reads 40,000
  // a call = $0.012. It saves $0.018 a call after the first and pays back with the sixth.
  const epoch = { before: 100_000, after: 40_000, common: 10_000 }

  it('is weighed against reading the long prefix again', () => {
    const five = quoteEpoch({ ...epoch, expectedCalls: 5 }, CACHED)
    expect(five.keepUsd).toBeCloseTo(0.15, 10)
    expect(five.epochUsd).toBeCloseTo(0.1155 + 4 * 0.012, 10)
    expect(five.epochUsd).toBeGreaterThan(five.keepUsd)
    const six = quoteEpoch({ ...epoch, expectedCalls: 6 }, CACHED)
    expect(six.epochUsd).toBeLessThan(six.keepUsd)
  })

  it('always pays back where nothing is cached, or where the cache has run out', () => {
    for (const quote of [
      quoteEpoch({ ...epoch, expectedCalls: 1 }, UNCACHED),
      quoteEpoch({ ...epoch, expectedCalls: 1, isCold: true }, CACHED),
    ])
      expect(quote.epochUsd).toBeLessThan(quote.keepUsd)
  })

  it('counts on five calls, or half as many as there were', () => {
    expect([0, 9, 10, 13, 40].map(expectedCallsOf)).toEqual([5, 5, 5, 6, 20])
  })
})

const WINDOW = 40_000
const request = (steps: number, more: object = {}) => ({
  format: 'anthropic-messages',
  body: toolLoop({ steps, resultLength: 1_600 }),
  targets: [{ model: 'claude-sonnet-4-5', window: WINDOW }],
  ...more,
})

function priced(price: PriceModel | undefined): ReturnType<typeof testEngine> & { agent: Session } {
  const engine = testEngine()
  const { info } = engine.deps.catalogue.resolve('x')
  const catalogue = {
    ...engine.deps.catalogue,
    resolve: () => ({ info: { ...info, ...(price !== undefined && { price }) }, match: 'exact' as const }),
  }
  return { ...engine, agent: createSession(async () => ({ ...engine.deps, catalogue }), { id: 'priced' }) }
}

/** Runs until an epoch is declared. */
async function untilEpoch({ agent, events }: ReturnType<typeof priced>, more: object = {}) {
  for (let steps = 60; ; steps++) {
    const turn = await agent.prepare(request(steps, more))
    const declared = events.find((event) => event.type === 'epoch-declared')
    if (declared !== undefined)
      return { steps, turn, declared, deferred: events.filter(({ type }) => type === 'epoch-deferred') }
  }
}

describe('an unforced epoch', () => {
  it('waits while it would cost more than it saves, and says so with its numbers', async () => {
    const waits = await untilEpoch(priced(CACHED), { expectedCalls: 1 })
    expect(waits.declared.forced).toBe(true)
    expect(waits.deferred.length).toBeGreaterThan(0)
    for (const event of waits.deferred) {
      expect(event).toMatchObject({ type: 'epoch-deferred', expectedCalls: 1 })
      if (event.type === 'epoch-deferred') expect(event.epochUsd).toBeGreaterThanOrEqual(event.keepUsd)
    }
    expect(waits.turn.load.count.high).toBeLessThanOrEqual(waits.turn.limit.tokens)
  })

  it('happens at high water when it pays back, with the price in its event', async () => {
    const { declared, deferred, steps } = await untilEpoch(priced(CACHED))
    expect(deferred).toEqual([])
    expect(declared).toMatchObject({ forced: false, price: { expectedCalls: Math.floor(steps / 2) } })
  })

  it('happens at high water where nobody knows the price', async () => {
    const { declared } = await untilEpoch(priced(undefined), { expectedCalls: 1 })
    expect(declared.forced).toBe(false)
    expect(declared.price).toBeUndefined()
  })

  it('is not held back when a person asked for it', async () => {
    const { agent, events } = priced(CACHED)
    await agent.prepare(request(40))
    await agent.compact()
    const turn = await agent.prepare(request(41, { expectedCalls: 1 }))
    expect(turn.report.newEpoch).toBeDefined()
    expect(events.some(({ type }) => type === 'epoch-deferred')).toBe(false)
  })
})
