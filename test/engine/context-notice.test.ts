import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPlimsollError } from '../../src/core/errors.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { WIRES } from '../support/generators/index.ts'
import { SEED } from '../support/property.ts'
import { growingSession } from '../support/sessions.ts'

const NOTICE = /\[Context: (\d+) % full, ([\d,]+) of ([\d,]+) tokens\./

function noticing(more: object = {}, options: Parameters<typeof testEngine>[0] = {}) {
  const engine = testEngine(options)
  const deps = { ...engine.deps, contextNotice: true, ...more }
  return { ...engine, agent: createSession(async () => deps, { id: 'test' }) }
}
const request = (steps: number, more: object = {}) => ({
  format: 'anthropic-messages',
  body: { ...toolLoop({ steps }), ...more },
  targets: [{ model: 'claude-sonnet-4-5', window: 8_000 }],
})
type Body = { messages: { role: string; content: unknown }[] }

describe('the context notice', () => {
  it('tells how full the window is and how many calls are left, as the last message', async () => {
    const { agent } = noticing()
    for (let steps = 1; steps < 20; steps++) await agent.prepare(request(steps))
    const turn = await agent.prepare(request(20))
    const last = (JSON.parse(turn.text) as Body).messages.at(-1)!
    expect(last.role).toBe('user')
    // It joins the results, which are the client's last message.
    const said = JSON.stringify(last.content)
    const [, percent, used, limit] = NOTICE.exec(said)!
    expect(limit).toBe(turn.limit.tokens.toLocaleString('en'))
    const tokens = Number(used!.replaceAll(',', ''))
    expect(Number(percent)).toBe(Math.round((100 * tokens) / turn.limit.tokens))
    const { turnsRemaining } = await agent.status()
    const calls = Number(/about (\d+) more calls/.exec(said)![1])
    expect(Math.abs(calls - turnsRemaining!)).toBeLessThanOrEqual(1)
  })

  it('leaves the prefix alone: without it, each request begins with the one before', async () => {
    const { agent, events } = noticing()
    let previous: string[] = []
    for (let steps = 1; steps <= 60; steps++) {
      const turn = await agent.prepare(request(steps))
      const { messages } = JSON.parse(turn.text) as Body
      const texts = messages.map((message) => JSON.stringify(message))
      const isNew = turn.report.newEpoch !== undefined
      if (!isNew) expect(texts.slice(0, previous.length)).toEqual(previous)
      expect(texts.filter((text) => NOTICE.test(text)).length).toBeLessThanOrEqual(1)
      previous = texts.filter((text) => !NOTICE.test(text))
    }
    expect(events.some((event) => event.type === 'epoch-declared')).toBe(true)
  })

  it('stands behind the last cache mark', async () => {
    const turn = await noticing({ cacheMarks: true }).agent.prepare(request(5))
    const { messages } = JSON.parse(turn.text) as Body
    expect(JSON.stringify(messages.at(-1))).not.toContain('cache_control')
    expect(JSON.stringify(messages.at(-2))).toContain('cache_control')
  })

  it('is not archived, and not there unless asked for', async () => {
    const { agent, deps } = noticing()
    await agent.prepare(request(3))
    for await (const { record } of deps.sessions.read('local', 'test'))
      expect(JSON.stringify(record)).not.toMatch(NOTICE)
    expect((await testEngine().session().prepare(request(3))).report.untouched).toBe(true)
  })

  it('is left out before an answer that the client began', async () => {
    const body = {
      model: 'm',
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'Say' },
        { role: 'assistant', content: '{' },
      ],
    }
    const turn = await noticing().agent.prepare({ ...request(1), body })
    expect(turn.report.untouched).toBe(true)
  })

  it('is left out on models that bind their thinking, and in chained responses', async () => {
    const { deps } = testEngine()
    const { info } = deps.catalogue.resolve('m')
    const resolve = () => ({ info: { ...info, bindsThinking: true }, match: 'exact' as const })
    const bound = await noticing({ catalogue: { ...deps.catalogue, resolve } }).agent.prepare(request(3))
    expect(bound.report.untouched).toBe(true)
    const body = { model: 'gpt-5', previous_response_id: 'resp_1', input: 'And now?' }
    const chained = await noticing().agent.prepare({
      format: 'openai-responses',
      body,
      targets: [{ model: 'gpt-5', window: 8_000 }],
    })
    expect(chained.report.untouched).toBe(true)
  })
})

describe.each(WIRES)('on %s', (wire) => {
  it(`keeps every request valid and within the limit (seed ${SEED})`, async () => {
    const codec = codecOf(wire)
    let notices = 0
    for (const { window, bodies } of fc.sample(growingSession(wire), { seed: SEED, numRuns: 8 })) {
      const { agent } = noticing()
      for (const body of bodies) {
        const turn = await agent
          .prepare({ format: wire, body, targets: [{ model: 'm', window }] })
          .catch((error: unknown) => {
            expect(isPlimsollError(error) && error.code).toBe('fixed-overhead')
          })
        if (turn === undefined) continue
        expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
        const known = new Set(codec.check(body).map(({ rule }) => rule))
        expect(codec.check(JSON.parse(turn.text)).filter(({ rule }) => !known.has(rule))).toEqual([])
        if (NOTICE.test(turn.text)) notices++
      }
    }
    expect(notices).toBeGreaterThan(0)
  })
})
