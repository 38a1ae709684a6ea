import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const FORMAT = 'anthropic-messages'
const targets = [{ model: 'claude-sonnet-4-5', window: 8_000 }]
const request = (steps: number) => ({ format: FORMAT, body: toolLoop({ steps }), targets })

async function run(session: ReturnType<ReturnType<typeof testEngine>['session']>, from: number, to: number) {
  let turn
  for (let steps = from; steps <= to; steps++) turn = await session.prepare(request(steps))
  return turn!
}

describe('pins', () => {
  it('keep a result and its call in view through every epoch, also in a new process', async () => {
    const sessions = memoryStore()
    const agent = testEngine({ sessions }).session()
    await run(agent, 1, 5)
    const item = (await agent.items()).find(({ kind, excerpt }) => kind === 'result' && excerpt.includes('value_3_'))!
    await agent.pin(item.identity)
    await run(agent, 6, 60)
    const fresh = testEngine({ sessions }).session()
    const turn = await run(fresh, 61, 140)
    expect(turn.epoch).toBeDefined()
    expect(turn.text).toContain(JSON.stringify(resultText(3, 400)).slice(1, -1))
    expect(turn.text).toContain('"toolu_3","name":"read"')
  })

  it('refuse an identity that the session never saw', async () => {
    await expect(testEngine().session().pin('nothing')).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('undo', () => {
  it('goes back to the view before the epoch when that fits, and to another epoch when it does not', async () => {
    const agent = testEngine().session()
    await run(agent, 1, 30)
    await agent.compact()
    const compacted = await agent.prepare(request(31))
    expect(compacted.report.newEpoch).toBeDefined()
    expect(await agent.undo()).toBe(compacted.epoch)
    const after = await agent.prepare(request(31))
    expect(after.report.untouched).toBe(true)
    const later = await run(agent, 32, 60)
    expect(later.epoch).not.toBe(compacted.epoch)
  })

  it('leaves other sessions on the same prefix alone', async () => {
    const sessions = memoryStore()
    const one = testEngine({ sessions }).session('one')
    const two = testEngine({ sessions }).session('two')
    const first = await run(one, 1, 60)
    const second = await two.prepare(request(60))
    expect(second.text === first.text).toBe(true)
    await one.undo()
    const again = await two.prepare(request(60))
    expect(again.text === second.text).toBe(true)
    const other = await one.prepare(request(60))
    expect(other.epoch).not.toBe(first.epoch)
    expect(other.load.count.high).toBeLessThanOrEqual(other.limit.tokens)
  })
})

describe('fork', () => {
  it('continues from the same view under a new name', async () => {
    const agent = testEngine().session()
    const turn = await run(agent, 1, 70)
    const fork = await agent.fork('what if')
    const forked = await fork.prepare(request(70))
    expect(forked.text === turn.text).toBe(true)
    expect((await fork.audit()).length).toBe((await agent.audit()).length)
  })
})

describe('status', () => {
  it('tells load, limit and the calls left until the next epoch', async () => {
    const agent = testEngine().session()
    await run(agent, 1, 20)
    const before = await agent.status()
    expect(before.percent).toBeGreaterThan(20)
    expect(before.available).toBe(before.limit - before.used)
    let steps = 20
    let turn
    do turn = await agent.prepare(request(++steps))
    while (turn.report.newEpoch === undefined)
    // 20 calls were made before the question was asked; the next epoch came within one call of the answer.
    expect(Math.abs(steps - 20 - before.turnsRemaining!)).toBeLessThanOrEqual(2)
  })
})

describe('audit', () => {
  it('has one epoch record for each epoch event', async () => {
    const { session, events } = testEngine()
    const agent = session()
    await run(agent, 1, 120)
    const declared = events.filter((event) => event.type === 'epoch-declared').map((event) => event.epoch)
    const recorded = (await agent.audit()).filter((entry) => entry.type === 'epoch')
    expect(recorded.map((entry) => entry.id)).toEqual(declared)
    for (const epoch of recorded) expect(epoch.after).toBeLessThan(epoch.before)
  })
})
