import { describe, expect, it } from 'vitest'
import type { EventBody } from '../../src/core/events.ts'
import { costOfUsage } from '../../src/core/price.ts'
import type { Usage } from '../../src/core/usage.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { ADK_CODE_PRICES } from '../../src/engine/presets/adk-code.ts'
import { AUTOSRE_PRICES } from '../../src/engine/presets/autosre/policy.ts'
import { boundOf, type Budget, createBudgets, createLedger } from '../../src/meter/index.ts'
import { usageIn } from '../support/reported-usage.ts'
import { seeded } from './random.ts'

const SEED = 1234
const catalogue = bundledCatalogue()
const spender = { tenant: 't', session: 's' }
const usageOf = (input: number, output: number, more: Partial<Usage> = {}): Usage => ({
  input,
  cacheRead: 0,
  cacheWrite: 0,
  output,
  reasoning: 0,
  ...more,
})
const priceOf = (model: string) => catalogue.resolve(model).info.price!

describe('cost of a session', () => {
  it('is that of its agents together, and unknown until one call has a price', () => {
    const ledger = createLedger()
    const call = { model: 'm', purpose: 'turn' as const, usage: usageOf(10, 2) }
    expect(ledger.costOf('t', 's')).toBeUndefined()
    ledger.record({ ...call, spender })
    expect(ledger.costOf('t', 's')).toBeUndefined()
    ledger.record({ ...call, spender: { ...spender, agent: 'a' }, costUsd: 2 })
    ledger.record({ ...call, spender: { ...spender, agent: 'b' }, costUsd: 3 })
    ledger.record({ ...call, spender: { tenant: 't', session: 'other' }, costUsd: 7 })
    expect(ledger.costOf('t', 's')).toBe(5)
    // A price that somebody knows without the usage counts like any other.
    ledger.record({ model: 'm', purpose: 'turn', spender: { ...spender, agent: 'c' }, costUsd: 4 })
    expect(ledger.costOf('t', 's')).toBe(9)
    expect(ledger.costOf('t', 's')).toBe(ledger.totals(spender).costUsd)
  })

  it('is told in totals that later calls leave alone', () => {
    const ledger = createLedger()
    ledger.record({ model: 'm', purpose: 'turn', usage: usageOf(10, 2), spender, costUsd: 1 })
    const [before, parts] = [ledger.totals(spender), ledger.split('session')]
    ledger.record({ model: 'm', purpose: 'summary', usage: usageOf(5, 1, { cacheWriteLong: 3 }), spender, costUsd: 1 })
    expect(before).toEqual({
      calls: 1,
      unmeasured: 0,
      unpriced: 0,
      usage: usageOf(10, 2),
      costUsd: 1,
      durationMs: 0,
      byPurpose: { turn: 1 },
    })
    expect(parts.get('s')).toEqual(before)
    expect(ledger.totals(spender).byPurpose).toEqual({ turn: 1, summary: 1 })
    expect(ledger.totals(spender).usage).toEqual(usageOf(15, 3, { cacheWriteLong: 3 }))
  })
})

describe('cost of a call', () => {
  it.each([
    ['Anthropic uncached', 'claude-sonnet-4-5', { input_tokens: 10_000, output_tokens: 1000 }, 0.03 + 0.015],
    [
      'Anthropic cached, both lifetimes',
      'claude-sonnet-4-5',
      {
        input_tokens: 1000,
        cache_read_input_tokens: 100_000,
        cache_creation_input_tokens: 3000,
        cache_creation: { ephemeral_5m_input_tokens: 1000, ephemeral_1h_input_tokens: 2000 },
        output_tokens: 2000,
      },
      0.003 + 0.03 + 0.00375 + 0.012 + 0.03,
    ],
    [
      'Anthropic above its tier',
      'claude-sonnet-4-5',
      { input_tokens: 10_000, cache_read_input_tokens: 240_000, output_tokens: 1000 },
      0.06 + 0.144 + 0.0225,
    ],
    ['OpenAI uncached', 'gpt-5', { prompt_tokens: 100_000, completion_tokens: 10_000 }, 0.125 + 0.1],
    [
      'OpenAI cached',
      'gpt-5',
      { prompt_tokens: 100_000, completion_tokens: 10_000, prompt_tokens_details: { cached_tokens: 90_000 } },
      0.0125 + 0.01125 + 0.1,
    ],
    [
      'Gemini uncached',
      'gemini-2.5-pro',
      { promptTokenCount: 100_000, candidatesTokenCount: 1000, thoughtsTokenCount: 4000 },
      0.125 + 0.05,
    ],
    [
      'Gemini cached above its tier',
      'gemini-2.5-pro',
      { promptTokenCount: 300_000, cachedContentTokenCount: 200_000, candidatesTokenCount: 1000 },
      0.25 + 0.05 + 0.015,
    ],
    [
      'Fable 5.1 cached',
      'claude-fable-5-1',
      { input_tokens: 0, cache_read_input_tokens: 1_000_000, output_tokens: 0 },
      0.25,
    ],
  ])('is right for %s', (_, model, reported, usd) => {
    const wire = model.startsWith('claude') ? 'anthropic-messages' : model.startsWith('gpt') ? 'openai-chat' : 'gemini'
    expect(costOfUsage(usageIn(wire, reported)!, priceOf(model))).toBeCloseTo(usd, 9)
  })

  it("is AutoSRE's and adk-code's own where their policy carries a price table", () => {
    const autosre = bundledCatalogue({ prices: AUTOSRE_PRICES })
    const million = usageOf(1_000_000, 1_000_000)
    const cost = (model: string, usage: Usage): number => costOfUsage(usage, autosre.resolve(model).info.price!)
    expect(cost('gemini-2.5-flash', million)).toBeCloseTo(0.75, 3)
    expect(cost('gemini-2.5-pro', million)).toBeCloseTo(11.25, 3)
    expect(cost('gemini-2.0-flash', million)).toBeCloseTo(0.5, 3)
    expect(cost('who-knows', usageOf(1_000_000, 0))).toBeCloseTo(0.5, 3)
    expect(cost('gemini-2.5-flash-preview', usageOf(1_000_000, 0))).toBeCloseTo(0.15, 3)
    const adk = bundledCatalogue({ prices: ADK_CODE_PRICES })
    expect(costOfUsage(million, adk.resolve('gemini-2.5-flash').info.price!)).toBeCloseTo(0.375, 9)
  })
})

describe('ledger', () => {
  it('adds up tokens by kind, cost and time, side calls included and labelled', () => {
    const ledger = createLedger()
    const price = priceOf('claude-sonnet-4-5')
    ledger.record({
      spender,
      model: 'claude-sonnet-4-5',
      purpose: 'turn',
      usage: usageOf(10_000, 1000, { cacheRead: 8000 }),
      price,
      durationMs: 900,
    })
    ledger.record({
      spender,
      model: 'claude-sonnet-4-5',
      purpose: 'summary',
      usage: usageOf(50_000, 2000),
      price,
      durationMs: 3000,
    })
    ledger.record({ spender: { ...spender, agent: 'child' }, model: 'x', purpose: 'turn', usage: usageOf(10, 1) })
    ledger.record({ spender, model: 'claude-sonnet-4-5', purpose: 'turn', price })
    const totals = ledger.totals({ session: 's' })
    expect(totals).toMatchObject({ calls: 4, unmeasured: 1, unpriced: 1, durationMs: 3900 })
    expect(totals.usage).toMatchObject({ input: 60_010, cacheRead: 8000, output: 3001 })
    expect(totals.byPurpose.summary).toBeCloseTo(0.15 + 0.03, 9)
    expect(totals.costUsd).toBeCloseTo(0.006 + 0.0024 + 0.015 + 0.18, 9)
    expect([...ledger.byAgent('t', 's').keys()].sort()).toEqual(['child', 'main'])
  })

  it('keeps tenants apart', () => {
    const ledger = createLedger()
    ledger.record({ spender, model: 'm', purpose: 'turn', usage: usageOf(1, 1) })
    expect(ledger.totals({ tenant: 'other' }).calls).toBe(0)
  })

  it('reports the last turn, the average and the total', () => {
    const ledger = createLedger()
    expect(ledger.report('t', 's')).toBe('No turns yet')
    for (const [input, output] of [
      [400, 400],
      [400, 400],
      [400, 400],
      [400, 400],
      [1200, 850],
    ] as const) {
      ledger.record({ spender, model: 'm', purpose: 'turn', usage: usageOf(input, output) })
    }
    ledger.record({ spender, model: 'm', purpose: 'summary', usage: usageOf(9999, 9999) })
    expect(ledger.report('t', 's')).toBe('Turn 5 | Input: 1200, Output: 850 | Avg/turn: 1050 | Total: 5250')
  })
})

describe('budgets', () => {
  const facts = catalogue.resolve('claude-sonnet-4-5').info
  const dollar: Budget = { name: 'one dollar', scope: 'session', unit: 'usd', hard: 1 }

  it('hold the prompt at the dearest way to send it plus the output cap', () => {
    // 10,000 tokens at the one-hour write price of 6, 1,000 at 15.
    expect(boundOf({ inputHigh: 10_000, maxOutputTokens: 1000 }, facts).usd).toBeCloseTo(0.06 + 0.015, 9)
    expect(boundOf({ inputHigh: 0 }, facts).outputTokens).toBe(64_000)
  })

  it(`let a hundred parallel requests never spend more than one dollar together (seed ${SEED})`, () => {
    const random = seeded(SEED)
    const budgets = createBudgets(() => [dollar])
    const running: { id: string; most: number }[] = []
    let spent = 0
    let finals = 0
    let halts = 0
    for (let i = 0; i < 100; i++) {
      const bound = boundOf({ inputHigh: 1000 + random(20_000), maxOutputTokens: 200 + random(4000) }, facts)
      const answer = budgets.reserve({ spender, bound, price: facts.price!, at: 0 })
      if (answer.verdict === 'halt') {
        halts++
        continue
      }
      if (answer.verdict === 'final') finals++
      const output = answer.verdict === 'final' ? answer.maxOutputTokens : bound.outputTokens
      running.push({
        id: answer.reservation,
        most: boundOf({ inputHigh: bound.inputTokens, maxOutputTokens: output }, facts).usd!,
      })
      // Some finish while others start, at anything up to the most they can cost.
      if (random(3) === 0) {
        const done = running.splice(random(running.length), 1)[0]!
        const usd = (done.most * random(1001)) / 1000
        spent += usd
        budgets.settle(done.id, { tokens: 0, usd })
      }
    }
    for (const { id, most } of running) {
      spent += most
      budgets.settle(id, { tokens: 0, usd: most })
    }
    expect(spent).toBeLessThanOrEqual(1)
    // What was only held is no closed budget: the closing answer is still to be given.
    expect(finals).toBe(0)
    expect(halts).toBeGreaterThan(0)
    expect(budgets.standing(spender, 0)[0]!.held).toBeCloseTo(0, 9)
    const dear = boundOf({ inputHigh: 2_000, maxOutputTokens: 60_000 }, facts)
    const verdicts = [1, 2].map(() => budgets.reserve({ spender, bound: dear, price: facts.price!, at: 0 }).verdict)
    expect(verdicts).toEqual(['final', 'halt'])
  })

  it('answer over budget with `final` once, then with `halt`', () => {
    const events: EventBody[] = []
    const budgets = createBudgets(
      () => [{ name: 'tokens', scope: 'session', unit: 'tokens', hard: 10_000 }],
      (event) => events.push(event),
    )
    const bound = boundOf({ inputHigh: 4000, maxOutputTokens: 1000 }, facts)
    const first = budgets.reserve({ spender, bound, at: 0 })
    expect(first.verdict).toBe('proceed')
    if (first.verdict === 'proceed') budgets.settle(first.reservation, { tokens: 4900, usd: 0 })
    const second = budgets.reserve({ spender, bound, at: 0 })
    expect(second).toMatchObject({ verdict: 'final', budget: 'tokens', maxOutputTokens: 1000 })
    expect(budgets.reserve({ spender, bound, at: 0 })).toMatchObject({ verdict: 'halt' })
    expect(events.filter(({ type }) => type === 'budget-reached')).toHaveLength(2)
    expect(budgets.reserve({ spender: { ...spender, session: 'other' }, bound, at: 0 }).verdict).toBe('proceed')
  })

  it('cut the closing answer to what is left, and halt when nothing useful is', () => {
    const budgets = createBudgets(() => [{ name: 'tokens', scope: 'session', unit: 'tokens', hard: 5000 }])
    expect(
      budgets.reserve({ spender, bound: boundOf({ inputHigh: 4000, maxOutputTokens: 2000 }, facts), at: 0 }),
    ).toMatchObject({
      verdict: 'final',
      maxOutputTokens: 1000,
    })
    const small = createBudgets(() => [{ name: 'tokens', scope: 'session', unit: 'tokens', hard: 4050 }])
    expect(
      small.reserve({ spender, bound: boundOf({ inputHigh: 4000, maxOutputTokens: 2000 }, facts), at: 0 }).verdict,
    ).toBe('halt')
  })

  it.each([
    ['agent', { agent: 'b' }],
    ['session', { session: 'b' }],
    ['tenant', { tenant: 'b' }],
    ['key', { key: 'b' }],
  ] as const)('count each %s on its own', (scope, other) => {
    const budgets = createBudgets(() => [{ name: 'b', scope, unit: 'tokens', hard: 6000, finalShare: 0 }])
    const bound = boundOf({ inputHigh: 4000, maxOutputTokens: 1000 }, facts)
    const mine = { ...spender, agent: 'a', key: 'a' }
    expect(budgets.reserve({ spender: mine, bound, at: 0 }).verdict).toBe('proceed')
    expect(budgets.reserve({ spender: mine, bound, at: 0 }).verdict).toBe('halt')
    expect(budgets.reserve({ spender: { ...mine, ...other }, bound, at: 0 }).verdict).toBe('proceed')
  })

  it('start anew each day', () => {
    const budgets = createBudgets(() => [{ name: 'day', scope: 'day', unit: 'tokens', hard: 6000, finalShare: 0 }])
    const bound = boundOf({ inputHigh: 4000, maxOutputTokens: 1000 }, facts)
    expect(budgets.reserve({ spender, bound, at: 0 }).verdict).toBe('proceed')
    expect(budgets.reserve({ spender, bound, at: 1000 }).verdict).toBe('halt')
    expect(budgets.reserve({ spender, bound, at: 24 * 3600 * 1000 }).verdict).toBe('proceed')
  })

  it('refuse a single call that is dearer than allowed', () => {
    const budgets = createBudgets(() => [{ name: 'per call', scope: 'call', unit: 'usd', hard: 0.05 }])
    expect(
      budgets.reserve({ spender, bound: boundOf({ inputHigh: 1000, maxOutputTokens: 1000 }, facts), at: 0 }).verdict,
    ).toBe('proceed')
    expect(
      budgets.reserve({ spender, bound: boundOf({ inputHigh: 10_000, maxOutputTokens: 1000 }, facts), at: 0 }),
    ).toMatchObject({
      verdict: 'halt',
      budget: 'per call',
    })
  })

  it('report a soft limit once and go on', () => {
    const events: EventBody[] = []
    const budgets = createBudgets(
      () => [{ name: 'b', scope: 'session', unit: 'tokens', soft: 6000, hard: 100_000 }],
      (event) => events.push(event),
    )
    const bound = boundOf({ inputHigh: 4000, maxOutputTokens: 1000 }, facts)
    for (let i = 0; i < 4; i++) expect(budgets.reserve({ spender, bound, at: 0 }).verdict).toBe('proceed')
    expect(events).toEqual([{ type: 'budget-reached', budget: 'b (soft)', used: 10_000, of: 6000 }])
  })

  it('count what was held as spent when the provider says nothing, and nothing for a call that was never billed', () => {
    const budgets = createBudgets(() => [{ name: 'b', scope: 'session', unit: 'tokens', hard: 100_000 }])
    const bound = boundOf({ inputHigh: 4000, maxOutputTokens: 1000 }, facts)
    const unknown = budgets.reserve({ spender, bound, at: 0 })
    const failed = budgets.reserve({ spender, bound, at: 0 })
    if (unknown.verdict === 'proceed') budgets.settle(unknown.reservation, undefined)
    if (failed.verdict === 'proceed') {
      budgets.release(failed.reservation)
      budgets.settle(failed.reservation, { tokens: 7777, usd: 0 })
    }
    expect(budgets.standing(spender, 0)).toEqual([
      { budget: 'b', scope: 'session', unit: 'tokens', spent: 5000, held: 0, hard: 100_000 },
    ])
  })

  it("let the last call pass the line where a design looks at what was spent only (AutoSRE's budget)", () => {
    const budgets = createBudgets(() => [
      { name: 'SRE_AGENT_TOKEN_BUDGET', scope: 'session', unit: 'tokens', hard: 10_000, enforce: 'settled' },
    ])
    const bound = boundOf({ inputHigh: 6000, maxOutputTokens: 8192 }, facts)
    const spend = (tokens: number): string => {
      const answer = budgets.reserve({ spender, bound, at: 0 })
      if (answer.verdict !== 'halt') budgets.settle(answer.reservation, { tokens, usd: 0 })
      return answer.verdict
    }
    expect([spend(5000), spend(6000), spend(100), spend(100)]).toEqual(['proceed', 'proceed', 'final', 'halt'])
  })

  it('warn once about a model without a price under a budget in dollars', () => {
    const events: EventBody[] = []
    const budgets = createBudgets(
      () => [dollar],
      (event) => events.push(event),
    )
    const bound = boundOf({ inputHigh: 10, maxOutputTokens: 10 }, {})
    budgets.reserve({ spender, bound, at: 0 })
    budgets.reserve({ spender, bound, at: 0 })
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({ type: 'warning', topic: 'unpriced-call' })
  })
})
