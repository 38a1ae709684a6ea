import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import type { Usage } from '../../src/core/usage.ts'
import { words } from '../learning/words.ts'

const body = { model: 'gpt-4o', messages: [{ role: 'user', content: words(1, 20_000) }] }
const request = { format: 'openai-chat', body, targets: [{ model: 'gpt-4o', window: 20_000 }] }

describe.each(['plimsoll', 'adk-code', 'contextguard'])('a session under %s', (policy) => {
  it('says how full the next request is: the last prompt, its answer, and what came since', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', policy })
    const session = plimsoll.session({ id: 'a' })
    const turn = await session.prepare(request)
    const { low, tokens, high } = turn.load.count
    expect(low <= tokens && tokens <= high).toBe(true)
    await session.record({
      turn: turn.id,
      usage: { input: 6_000, output: 5_000, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    })
    const status = await session.status()
    expect(status.used).toBe(11_000)
    expect(status.percent).toBeCloseTo((100 * 11_000) / status.limit, 0)
    await plimsoll.close()
  })
})

describe('usage from outside', () => {
  it.each<[string, Record<string, unknown>]>([
    ['partial', { input: 6_000 }],
    ['negative', { input: -5, output: 3, cacheRead: 0, cacheWrite: 0, reasoning: 0 }],
    ['text', { input: '6000', output: '5', cacheRead: 0, cacheWrite: 0, reasoning: 0 }],
    ['no number', { input: Number.NaN, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0 }],
    ['endless', { input: Infinity, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0 }],
  ])('that is %s is unknown: nothing of it reaches the ledger', async (_, usage) => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:' })
    const session = plimsoll.session({ id: 'a' })
    const turn = await session.prepare(request)
    const recorded = await session.record({ turn: turn.id, usage: usage as unknown as Usage })
    expect(recorded.usage).toBeUndefined()
    const { spent, used } = await session.status()
    expect(spent.usage).toMatchObject({ input: 0, output: 0 })
    expect(spent.costUsd).toBe(0)
    expect(used).toBe(Math.ceil(turn.load.count.high))
    await plimsoll.close()
  })

  it('may leave out what is only a part of its numbers', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:' })
    const session = plimsoll.session({ id: 'a' })
    const turn = await session.prepare(request)
    const usage = { input: 6_000, output: 5, cacheRead: Number.NaN } as unknown as Usage
    expect((await session.record({ turn: turn.id, usage })).usage).toEqual({
      input: 6_000,
      output: 5,
      cacheRead: 0,
      cacheWrite: 0,
      reasoning: 0,
    })
    await plimsoll.close()
  })
})

describe('a budget that was raised', () => {
  const budgets = (hard: number) => [{ name: 'session', scope: 'session', unit: 'usd', hard } as const]
  const usage = { input: 6_000, output: 1_000, cacheRead: 0, cacheWrite: 0, reasoning: 0 }

  it('opens a halted session again, also one that was held across the change', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', budgets: budgets(0.02) })
    const session = plimsoll.session({ id: 'a' })
    const capped = { ...request, body: { ...body, max_tokens: 500 } }
    const verdicts: string[] = []
    for (let call = 0; call < 4; call++) {
      const turn = await session.prepare(capped)
      verdicts.push(turn.verdict.kind)
      if (turn.verdict.kind !== 'halt') await session.record({ turn: turn.id, usage })
    }
    expect(verdicts.at(-1)).toBe('halt')
    plimsoll.reconfigure({ budgets: budgets(3) })
    const again = await session.prepare(capped)
    expect(again.verdict.kind).toBe('proceed')
    await session.record({ turn: again.id, usage })
    await plimsoll.close()
  })
})

describe('a chained conversation', () => {
  it('is made smaller by the provider where it offers that, and goes on', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', tools: false })
    const session = plimsoll.session({ id: 'a' })
    const targets = [{ model: 'gpt-4o', window: 20_000, endpoint: 'https://api.openai.com' }]
    const prepare = (body: object): ReturnType<typeof session.prepare> =>
      session.prepare({
        format: 'openai-responses',
        body: { model: 'gpt-4o', max_output_tokens: 1_000, ...body },
        targets,
      })
    const answered = (turn: string, input: number, output: object[]): Promise<unknown> =>
      session.record({
        turn,
        format: 'openai-responses',
        response: {
          id: 'resp',
          object: 'response',
          output,
          usage: { input_tokens: input, output_tokens: 100, total_tokens: input + 100 },
        },
      })
    const said = { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }
    const asksFor = (text: string): unknown => (JSON.parse(text) as Record<string, unknown>)['context_management']

    const first = await prepare({ input: 'Go on.' })
    await answered(first.id, 9_000, [said])
    const small = await prepare({ previous_response_id: 'resp_1', input: 'And on.' })
    expect(asksFor(small.text)).toBeUndefined()
    await answered(small.id, 17_000, [said])
    const large = await prepare({ previous_response_id: 'resp_2', input: 'And on.' })
    expect(large.load.count.tokens).toBeLessThan(large.limit.tokens)
    expect(large.verdict.kind).toBe('proceed')
    expect(asksFor(large.text)).toEqual([{ type: 'compaction', compact_threshold: expect.any(Number) as number }])
    await answered(large.id, 19_000, [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'x'.repeat(400) }, said])
    // What it holds now nobody knows: the next answer says it.
    const next = await prepare({ previous_response_id: 'resp_3', input: 'And on.' })
    expect(next.verdict.kind).toBe('proceed')
    expect(next.load.count.tokens).toBeLessThan(1_000)
    expect(asksFor(next.text)).toBeUndefined()
    await plimsoll.close()
  })

  it('counts what the provider said and all that is new, and is never folded', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:' })
    const session = plimsoll.session({ id: 'a' })
    const targets = [{ model: 'gpt-4o', window: 20_000, endpoint: 'https://llm.example.com' }]
    const first = { model: 'gpt-4o', max_output_tokens: 1_000, input: [{ role: 'user', content: 'Go on.' }] }
    const opened = await session.prepare({ format: 'openai-responses', body: first, targets })
    await session.record({
      turn: opened.id,
      usage: { input: 17_000, output: 300, cacheRead: 0, cacheWrite: 0, reasoning: 0 },
    })
    const output = words(3, 2_000)
    const body = {
      ...first,
      previous_response_id: 'resp_1',
      tools: [{ type: 'function', name: 'look', parameters: {} }],
      input: [{ type: 'function_call_output', call_id: 'c1', output }],
    }
    const next = await session.prepare({ format: 'openai-responses', body, targets })
    expect(next.verdict.kind).toBe('proceed')
    expect(next.load.count.tokens).toBeGreaterThan(17_300 + 300)
    expect(next.load.count.low).toBeLessThan(2_000)
    const long = { ...body, input: [{ type: 'function_call_output', call_id: 'c1', output: words(3, 20_000) }] }
    const full = await session.prepare({ format: 'openai-responses', body: long, targets })
    expect(full.verdict.kind).toBe('final')
    expect(full.epoch).toBeUndefined()
    expect(full.text).toContain('"call_id":"c1"')
    await plimsoll.close()
  })
})
