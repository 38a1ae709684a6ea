import { beforeEach, describe, expect, it, vi } from 'vitest'
import { costOfUsage } from '../../src/core/price.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createPlimsoll, type Plimsoll, type PlimsollEvent, type PlimsollOptions } from '../../src/index.ts'
import type { Budget } from '../../src/meter/index.ts'
import { say, startReferee, type RunningReferee } from '../../src/testing/referee/index.ts'

const MODEL = 'claude-sonnet-4-5'
const PRICE = bundledCatalogue().resolve(MODEL).info.price!
const SECRET = new Uint8Array(32).fill(5)
const MAX_TOKENS = 1_000
const words = (count: number, from: number): string =>
  Array.from({ length: count }, (_, n) => ['ship', 'load', 'line', 'water', 'hull'][(n * 7 + from) % 5]).join(' ')

const dollar = (scope: Budget['scope'], hard = 1): Budget => ({ name: `${scope} dollars`, scope, unit: 'usd', hard })

interface Stage {
  readonly referee: RunningReferee
  ask(plimsoll: Plimsoll, n: number, more?: Record<string, string>): Promise<Response>
  /** Reads the answers, and waits until the cost of each that a model gave is booked. */
  settled(responses: readonly Response[]): Promise<string[]>
  /** What the provider would bill for all that it answered. */
  billed(): number
}

async function withReferee(work: (stage: Stage) => Promise<void>): Promise<void> {
  // Answers as long as they may be: the reservation has nothing to spare.
  const referee = await startReferee({
    wire: 'anthropic-messages',
    tokenizer: (text) => Math.ceil(text.length / 5),
    script: () => say('x'.repeat(MAX_TOKENS * 4)),
  })
  const answered = () => referee.log.filter(({ status, kind }) => status === 200 && kind === 'generate')
  const stage: Stage = {
    referee,
    ask: (plimsoll, n, more = {}) =>
      plimsoll.fetch(`${referee.url}/v1/messages`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'anthropic-version': '2023-06-01',
          'x-api-key': 'sk-one',
          'x-plimsoll-session': `s${n}`,
          ...more,
        },
        body: JSON.stringify({
          model: MODEL,
          max_tokens: MAX_TOKENS,
          messages: [{ role: 'user', content: words(2_000, n) }],
        }),
      }),
    async settled(responses) {
      const texts = await Promise.all(responses.map((response) => response.text()))
      await vi.waitFor(() =>
        expect(events.filter(({ type }) => type === 'usage-recorded')).toHaveLength(answered().length),
      )
      return texts
    },
    billed: () => answered().reduce((sum, { usage }) => sum + costOfUsage(usage!, PRICE), 0),
  }
  try {
    await work(stage)
  } finally {
    await referee.close()
  }
}

/** Of every Plimsoll of the test at hand. */
const events: PlimsollEvent[] = []

function open(options: PlimsollOptions): Plimsoll {
  return createPlimsoll({
    store: 'memory:',
    artifacts: 'memory:',
    secret: SECRET,
    tools: false,
    onEvent: (event) => events.push(event),
    ...options,
  })
}

beforeEach(() => void (events.length = 0))

describe('a budget of one dollar, over real HTTP', () => {
  it.each(['key', 'tenant', 'day'] as const)('is never overspent by 100 requests at once (per %s)', async (scope) => {
    await withReferee(async ({ referee, ask, billed, settled }) => {
      const plimsoll = open({ budgets: [dollar(scope)] })
      const responses = await Promise.all(Array.from({ length: 100 }, (_, n) => ask(plimsoll, n)))
      await settled(responses)
      expect(billed()).toBeLessThanOrEqual(1)
      expect(billed()).toBeGreaterThan(0.5)
      // What is only held by calls under way is no reason to close: SDKs are told to try again.
      const refused = responses.filter(({ status }) => status !== 200)
      expect(refused.length).toBe(100 - referee.log.length)
      expect(refused.map(({ status, headers }) => [status, headers.get('x-should-retry')])).toEqual(
        refused.map(() => [429, 'true']),
      )
      // One after another the rest is spent, ending in one closing answer and then none.
      const texts: string[] = []
      for (let n = 100; n < 200; n++) texts.push(...(await settled([await ask(plimsoll, n)])))
      expect(billed()).toBeLessThanOrEqual(1)
      expect(billed()).toBeGreaterThan(0.85)
      expect(texts.at(-1)).toContain('Plimsoll stopped this run')
      const verdicts = events.flatMap((event) => (event.type === 'verdict-given' ? [event.verdict] : []))
      expect(verdicts.filter(({ kind }) => kind === 'final')).toHaveLength(1)
      const afterFinal = verdicts.slice(verdicts.findIndex(({ kind }) => kind === 'final') + 1)
      expect(afterFinal.every(({ kind, retryable }) => kind === 'halt' && retryable !== true)).toBe(true)
      expect(plimsoll.ledger.totals().costUsd).toBeCloseTo(billed(), 9)
      await plimsoll.close()
    })
  })

  it('holds for two processes on one store, whose requests come at the same time', async () => {
    await withReferee(async ({ ask, billed, settled }) => {
      const store = memoryStore()
      const two = [open({ store, budgets: [dollar('tenant')] }), open({ store, budgets: [dollar('tenant')] })]
      await settled(await Promise.all(Array.from({ length: 100 }, (_, n) => ask(two[n % 2]!, n))))
      expect(billed()).toBeLessThanOrEqual(1)
      for (let n = 100; n < 200; n++) await settled([await ask(two[n % 2]!, n)])
      expect(billed()).toBeLessThanOrEqual(1)
      expect(billed()).toBeGreaterThan(0.85)
      expect(events.filter(({ type }) => type === 'degraded')).toEqual([])
    })
  })

  it('goes on where it was after a restart', async () => {
    await withReferee(async ({ referee, ask, billed, settled }) => {
      const store = memoryStore()
      const first = open({ store, budgets: [dollar('day')] })
      for (let n = 0; n < 20; n++) await settled([await ask(first, n)])
      const before = billed()
      expect(before).toBeGreaterThan(0.2)
      const second = open({ store, budgets: [dollar('day')] })
      for (let n = 20; n < 120; n++) await settled([await ask(second, n)])
      expect(billed()).toBeLessThanOrEqual(1)
      expect(billed()).toBeGreaterThan(0.85)
      const asked = referee.log.length
      expect(await settled([await ask(open({ store, budgets: [dollar('day')] }), 200)])).toEqual([
        expect.stringContaining('Plimsoll stopped this run'),
      ])
      expect(referee.log.length).toBe(asked)
    })
  })

  it('counts what a session had spent before it got a budget', async () => {
    await withReferee(async ({ referee, ask, settled }) => {
      const store = memoryStore()
      const free = open({ store })
      for (let n = 0; n < 5; n++) await settled([await ask(free, 1)])
      const spent = (await free.session({ id: 's1' }).status()).spent.costUsd
      expect(spent).toBeGreaterThan(0.05)
      const limited = open({ store, budgets: [dollar('session', spent)] })
      const [text] = await settled([await ask(limited, 1)])
      expect(text).toContain('Plimsoll stopped this run')
      expect(referee.log).toHaveLength(5)
    })
  })

  it('is one for all policies and agents of a session', async () => {
    await withReferee(async ({ ask, billed, settled }) => {
      const plimsoll = open({ budgets: [dollar('session', 0.1)] })
      const policies = ['plimsoll', 'autosre', 'contextguard', 'adk-code']
      await settled(
        await Promise.all(
          Array.from({ length: 40 }, (_, n) =>
            ask(plimsoll, 1, { 'x-plimsoll-policy': policies[n % 4]!, 'x-plimsoll-agent': `a${n % 3}` }),
          ),
        ),
      )
      // AutoSRE's own price table is lower than the provider's bill; its calls are booked at its prices.
      expect(plimsoll.ledger.totals({ session: 's1' }).costUsd).toBeLessThanOrEqual(0.1)
      expect(billed()).toBeGreaterThan(0)
    })
  })
})

describe('the ledger', () => {
  it('has every call by agent, session, key and tenant, and no key in it', async () => {
    await withReferee(async ({ ask, settled }) => {
      const plimsoll = open({})
      await settled([await ask(plimsoll, 1), await ask(plimsoll, 1, { 'x-plimsoll-agent': 'child' })])
      await settled([await ask(plimsoll, 2, { 'x-api-key': 'sk-two' })])
      const { ledger } = plimsoll
      // Named sessions are the program's own, whichever key pays.
      expect([...ledger.split('tenant').keys()]).toEqual(['local'])
      const keys = [...ledger.split('key').keys()]
      expect(keys).toEqual([expect.stringMatching(/^k_/), expect.stringMatching(/^k_/)])
      expect(keys.map((key) => ledger.totals({ key }).calls)).toEqual([2, 1])
      expect(ledger.totals()).toMatchObject({ calls: 3, unmeasured: 0, unpriced: 0 })
      expect([...ledger.split('agent').keys()]).toEqual(['main', 'child'])
      expect(ledger.totals({ session: 's1' }).usage.input).toBeGreaterThan(2_000)
      expect(ledger.calls({ session: 's2' })).toEqual([
        expect.objectContaining({ model: MODEL, purpose: 'turn', durationMs: expect.any(Number) }),
      ])
      expect(ledger.session('local', 's1')).toMatchObject({
        requests: 2,
        usage: ledger.totals({ session: 's1' }).usage,
        costUsd: ledger.totals({ session: 's1' }).costUsd,
      })
      expect(JSON.stringify([ledger.calls(), events])).not.toMatch(/sk-(one|two)/)
    })
  })

  it('knows after a restart what a session spent before, summaries included', async () => {
    const store = memoryStore()
    const summarizer = {
      name: 'scribe',
      model: MODEL,
      window: 200_000,
      summarise: async () => ({
        text: 'The user works on ships.',
        stop: 'end' as const,
        usage: { input: 10_000, output: 200, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
      }),
    }
    const plimsoll = open({ store, summarizer, policy: 'contextguard' })
    const session = plimsoll.session({ id: 'run', key: 'sk-secret' })
    const messages = Array.from({ length: 31 }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: words(300, n),
    }))
    const request = (count: number) => ({
      format: 'anthropic-messages',
      body: { model: MODEL, max_tokens: 500, messages: messages.slice(0, count) },
      targets: [{ model: MODEL, window: 8_000 }],
    })
    const turn = await session.prepare(request(31))
    await session.record({
      turn: turn.id,
      usage: { input: 3_000, output: 100, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    })
    const { spent, report } = await session.status()
    expect(spent.calls).toBe(2)
    expect(spent.byPurpose).toEqual({ summary: expect.closeTo(0.033, 9), turn: expect.closeTo(0.0105, 9) })
    expect(report).toBe('Turn 1 | Input: 3000, Output: 100 | Avg/turn: 3100 | Total: 3100')
    expect(events.filter((event) => event.type === 'usage-recorded' && event.purpose === 'summary')).toEqual([
      expect.objectContaining({ costUsd: expect.closeTo(0.033, 9), model: MODEL }),
    ])
    expect(plimsoll.ledger.totals({ session: 'run' })).toEqual(spent)
    expect([...plimsoll.ledger.split('key').keys()]).toEqual([expect.stringMatching(/^k_[0-9a-f]{32}$/)])
    const later = open({ store, clock: { now: () => Date.now() + 1_000 } })
    expect((await later.session({ id: 'run' }).status()).spent).toEqual(spent)
    expect(later.ledger.totals({ session: 'run' })).toEqual(spent)
    // A second agent reads the same log; its calls are not counted twice.
    await later.session({ id: 'run', agent: 'child' }).status()
    expect(later.ledger.totals({ session: 'run' })).toEqual(spent)
  })

  it('keeps the summarizer inside the budget: without money for it code writes', async () => {
    let asked = 0
    const plimsoll = open({
      policy: 'contextguard',
      budgets: [dollar('session', 0.03)],
      summarizer: {
        name: 'scribe',
        model: MODEL,
        window: 200_000,
        summarise: async () => {
          asked++
          return { text: 'short', stop: 'end' as const }
        },
      },
    })
    const messages = Array.from({ length: 31 }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: words(300, n),
    }))
    const session = plimsoll.session({ id: 'run' })
    const turn = await session.prepare({
      format: 'anthropic-messages',
      body: { model: MODEL, max_tokens: 500, messages },
      targets: [{ model: MODEL, window: 8_000 }],
    })
    expect(turn.report.newEpoch).toBeDefined()
    expect(asked).toBe(0)
    const { budgets } = await session.status()
    expect(budgets).toEqual([expect.objectContaining({ budget: 'session dollars', spent: 0, hard: 0.03 })])
    expect(budgets[0]!.held).toBeGreaterThan(0)
    expect(budgets[0]!.held).toBeLessThanOrEqual(0.03)
  })
})
