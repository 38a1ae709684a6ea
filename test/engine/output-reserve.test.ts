import { describe, expect, it } from 'vitest'
import { createPlimsoll, type PlimsollEvent } from '../../src/index.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { toolLoop } from '../support/anthropic-loop.ts'

const WINDOW = 60_000
/** The vendor refuses what the first asks for beyond the window, and ends the second's answers where the window ends. */
const REFUSING = 'claude-opus-4-1'
const STOPPING = 'claude-sonnet-4-5'

const body = (steps: number, maxTokens: number, more: object = {}): string =>
  JSON.stringify({ ...toolLoop({ steps, resultLength: 4_000, maxTokens }), ...more })
const capOf = (text: string): number => (JSON.parse(text) as { max_tokens: number }).max_tokens

function open() {
  const events: PlimsollEvent[] = []
  const options = { store: 'memory:', artifacts: 'memory:', secret: Buffer.alloc(32, 1), tools: false } as const
  const plimsoll = createPlimsoll({ ...options, onEvent: (event) => events.push(event) })
  const prepare = (text: string, model: string, id = 's') =>
    plimsoll.session({ id }).prepare({ format: 'anthropic-messages', body: text, targets: [{ model, window: WINDOW }] })
  return { plimsoll, events, prepare }
}

describe('the reserve for an answer', () => {
  it('is what answers need, not what a client asks for at most with each call', async () => {
    const { plimsoll, prepare } = open()
    for (const model of [REFUSING, STOPPING]) {
      const turn = await prepare(body(8, 32_000), model, model)
      expect(turn.report.untouched).toBe(true)
      expect(turn.limit.outputReserve).toBe(8_192)
    }
    await plimsoll.close()
  })

  it('is a fifth of a small window, or the request’s own cap where that is less', async () => {
    const { plimsoll } = open()
    const at = async (window: number, cap: number): Promise<number> => {
      const request = { format: 'anthropic-messages', body: body(2, cap), targets: [{ model: REFUSING, window }] }
      return (await plimsoll.session({ id: `${window} ${cap}` }).prepare(request)).limit.outputReserve
    }
    expect(await at(16_000, 32_000)).toBe(3_200)
    expect(await at(16_000, 1_000)).toBe(1_000)
    expect(await at(200_000, 6_000)).toBe(6_000)
    await plimsoll.close()
  })

  it('grows with what answers of the conversation have needed', async () => {
    const { plimsoll, prepare } = open()
    for (let step = 1; step <= 5; step++) {
      const turn = await prepare(body(step, 32_000), REFUSING)
      const usage = { input: turn.load.count.tokens, output: 12_000, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
      await plimsoll.session({ id: 's' }).record({ turn: turn.id, usage })
    }
    const { limit } = await prepare(body(6, 32_000), REFUSING)
    expect(limit.outputReserve).toBeGreaterThanOrEqual(12_000 * 1.5)
    expect(limit.outputReserve).toBeLessThan(32_000)
    await plimsoll.close()
  })
})

describe('the output cap', () => {
  it('is lowered to what is left, where the provider refuses more', async () => {
    const { plimsoll, events, prepare } = open()
    const turn = await prepare(body(20, 32_000), REFUSING)
    expect(turn.report.newEpoch).toBeUndefined()
    expect(turn.edits).toEqual([])
    const cap = capOf(turn.text)
    expect(cap).toBeLessThan(32_000)
    expect(cap).toBeGreaterThanOrEqual(turn.limit.outputReserve)
    expect(turn.load.count.high + cap).toBeLessThanOrEqual(WINDOW)
    expect(JSON.parse(turn.text)).toEqual(JSON.parse(body(20, cap)))
    expect(events).toContainEqual(expect.objectContaining({ type: 'output-lowered', asked: 32_000, to: cap }))
    await plimsoll.close()
  })

  it('is left alone where the provider ends the answer at the window', async () => {
    const { plimsoll, prepare } = open()
    const turn = await prepare(body(20, 32_000), STOPPING)
    expect(turn.report.untouched).toBe(true)
    await plimsoll.close()
  })

  it('is never below the thinking budget, which the wire would refuse', async () => {
    const { plimsoll, prepare } = open()
    const thinking = { thinking: { type: 'enabled', budget_tokens: 29_500 } }
    const turn = await prepare(body(33, 30_000, thinking), REFUSING)
    expect(capOf(turn.text)).toBeGreaterThan(29_500)
    expect(turn.load.count.high + capOf(turn.text)).toBeLessThanOrEqual(WINDOW)
    await plimsoll.close()
  })

  it('that cut an answer makes room in the next request, and says so', async () => {
    const { plimsoll, events, prepare } = open()
    const first = await prepare(body(20, 32_000), REFUSING)
    const usage = { input_tokens: Math.round(first.load.count.tokens), output_tokens: capOf(first.text) }
    const content = [{ type: 'text', text: 'It goes on' }]
    const response = { type: 'message', role: 'assistant', content, stop_reason: 'max_tokens', usage }
    await plimsoll.session({ id: 's' }).record({ turn: first.id, format: 'anthropic-messages', response })
    expect(events).toContainEqual(expect.objectContaining({ type: 'warning', topic: 'output-cut' }))
    const next = await prepare(body(20, 32_000), REFUSING)
    expect(capOf(next.text)).toBe(32_000)
    expect(next.load.count.high + 32_000).toBeLessThanOrEqual(WINDOW)
    await plimsoll.close()
  })

  it('and the prompt stay within the window for every window and cap', async () => {
    const { plimsoll } = open()
    for (const window of [16_000, 40_000, 60_000, 120_000])
      for (const cap of [1_000, 8_000, 30_000, 64_000])
        for (const steps of [2, 12, 40]) {
          const request = {
            format: 'anthropic-messages',
            body: body(steps, cap),
            targets: [{ model: REFUSING, window }],
          }
          const turn = await plimsoll.session({ id: `${window} ${cap} ${steps}` }).prepare(request)
          expect(turn.load.count.high + capOf(turn.text)).toBeLessThanOrEqual(window)
          expect(capOf(turn.text)).toBeGreaterThanOrEqual(Math.min(cap, 8_192, window / 5))
        }
    await plimsoll.close()
  })
})

it('the catalogue says whose answers end at the window', () => {
  const { resolve } = bundledCatalogue()
  const stopping = ['claude-sonnet-4-5-20250929', 'us.anthropic.claude-haiku-4-5-20251001-v1:0', 'claude-opus-4-7']
  for (const model of stopping) expect(resolve(model).info.stopsAtWindow, model).toBe(true)
  for (const model of ['claude-opus-4-1-20250805', 'claude-3-7-sonnet-latest', 'gpt-5', 'gemini-2.5-pro'])
    expect(resolve(model).info.stopsAtWindow, model).not.toBe(true)
})
