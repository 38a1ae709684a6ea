import { describe, expect, it } from 'vitest'
import {
  addFresh,
  commitRequest,
  percentFull,
  projectedTokens,
  setSchema,
  settleResponse,
  startCounters,
} from '../../src/meter/index.ts'
import { seeded } from './random.ts'

const SEED = 99

describe('counters of the ai-agent design', () => {
  it('go through a turn: seed pending, request commits, response measures', () => {
    const started = startCounters(1000, 300)
    expect(projectedTokens(started)).toBe(1300)
    const sent = commitRequest(started)
    expect(sent).toMatchObject({ current: 1000, pending: 0, fresh: 0 })
    const measured = settleResponse(sent, { input: 1500, cacheRead: 900, cacheWrite: 100, output: 200, reasoning: 50 })
    expect(measured).toMatchObject({ current: 1700, pending: 0, reasoning: 50 })
    // The measured prompt holds the schema: it is not added again.
    expect(projectedTokens(measured)).toBe(1700)
    expect(projectedTokens(addFresh(measured, 400))).toBe(2100)
  })

  it('do not count twice when a request is retried', () => {
    const sent = commitRequest(addFresh(startCounters(1000), 50))
    expect(commitRequest(sent)).toEqual(sent)
  })

  it('change nothing after a response without usage', () => {
    const sent = commitRequest(startCounters(1000))
    expect(settleResponse(sent, undefined)).toBe(sent)
    expect(settleResponse(sent, { input: 0, cacheRead: 0, cacheWrite: 0, output: 0, reasoning: 0 })).toBe(sent)
  })

  it('follow tools that change after they were measured', () => {
    const measured = settleResponse(commitRequest(startCounters(0, 300)), {
      input: 1300,
      cacheRead: 0,
      cacheWrite: 0,
      output: 0,
      reasoning: 0,
    })
    expect(projectedTokens(setSchema(measured, 500))).toBe(1500)
  })

  it('show at most a hundred percent', () => {
    expect(percentFull(startCounters(640), 1000)).toBe(64)
    expect(percentFull(startCounters(5000), 1000)).toBe(100)
  })

  it(`only grow until a response settles, and committing moves nothing in or out (seed ${SEED})`, () => {
    const random = seeded(SEED)
    let counters = startCounters(random(5000), random(2000))
    for (let i = 0; i < 500; i++) {
      const before = projectedTokens(counters)
      if (random(2) === 0) {
        counters = addFresh(counters, random(3000) - 100)
        expect(projectedTokens(counters)).toBeGreaterThanOrEqual(before)
      } else {
        counters = commitRequest(counters)
        expect(projectedTokens(counters)).toBe(before)
      }
      expect(Math.min(counters.current, counters.pending, counters.fresh, counters.schema)).toBeGreaterThanOrEqual(0)
    }
  })
})
