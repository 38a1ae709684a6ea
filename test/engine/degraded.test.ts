import { describe, expect, it } from 'vitest'
import { PlimsollError } from '../../src/core/errors.ts'
import { handlesIn } from '../../src/core/handles.ts'
import { statOf } from '../../src/drivers/artifacts/artifact.ts'
import { heldArtifacts } from '../../src/drivers/artifacts/held.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { summaryDesign } from '../support/summary-design.ts'

const targets = [{ model: 'claude-sonnet-4-5', window: 8_000 }]
const request = (steps: number, big?: number) => ({
  format: 'anthropic-messages',
  body: toolLoop({ steps, resultLength: (step) => (step === big ? 60_000 : 400) }),
  targets,
})

/** Every method of `real` fails while `isDown()`. */
function breakable<T extends object>(real: T, isDown: () => boolean): T {
  const gone = (): PlimsollError => new PlimsollError('store-unavailable', 'The server hung up.', { retryable: true })
  return new Proxy(real, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key)
      if (typeof value !== 'function') return value
      if (key === 'read' && 'append' in target)
        return async function* read(...args: unknown[]) {
          if (isDown()) throw gone()
          yield* value.apply(target, args) as AsyncIterable<unknown>
        }
      return async (...args: unknown[]) => {
        if (isDown()) throw gone()
        return value.apply(target, args) as unknown
      }
    },
  })
}

function setUp() {
  const state = { isDown: false, now: 1_000 }
  const sessions = memoryStore()
  const engine = testEngine({ sessions })
  const { addressOf } = engine.deps
  const artifacts = heldArtifacts(
    breakable(engine.deps.artifacts, () => state.isDown),
    { statOf: (tenant, bytes, meta) => statOf(addressOf(tenant, bytes), bytes, meta, state.now) },
  )
  const deps = {
    ...engine.deps,
    sessions: breakable(sessions, () => state.isDown),
    artifacts,
    clock: { now: () => (state.now += 1) },
  }
  return {
    ...engine,
    state,
    sessions,
    artifacts,
    agent: createSession(async () => deps, { id: 'test' }),
    fresh: () => createSession(async () => engine.deps, { id: 'test' }),
    comeBack() {
      state.isDown = false
      state.now += 10_000
    },
  }
}

describe('a store that goes away', () => {
  it('stops no request: each one fits, is valid and grows from the one before', async () => {
    const { agent, state, events } = setUp()
    for (let steps = 1; steps <= 50; steps++) await agent.prepare(request(steps))
    state.isDown = true
    let previous: { epoch: string | undefined; messages: string[] } | undefined
    for (let steps = 51; steps <= 150; steps++) {
      const turn = await agent.prepare(request(steps))
      await agent.record({
        turn: turn.id,
        usage: { input: 5_000, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0 },
      })
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      const sent = JSON.parse(turn.text) as { messages: unknown[] }
      expect(anthropicMessages.check(sent)).toEqual([])
      const messages = sent.messages.map((message) => JSON.stringify(message))
      if (previous !== undefined && previous.epoch === turn.epoch)
        expect(messages.slice(0, previous.messages.length)).toEqual(previous.messages)
      previous = { epoch: turn.epoch, messages }
    }
    expect(events.some((event) => event.type === 'epoch-declared')).toBe(true)
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'degraded', what: 'session store', cause: 'The server hung up.' }),
    )
  })

  it('keeps what stood before it went: the next request is the same bytes and more', async () => {
    const { agent, state } = setUp()
    for (let steps = 1; steps < 60; steps++) await agent.prepare(request(steps, 3))
    const before = await agent.prepare(request(60, 3))
    expect(before.epoch).toBeDefined()
    state.isDown = true
    const again = await agent.prepare(request(60, 3))
    expect(again.text === before.text).toBe(true)
  })

  it('gets everything that it is owed when it is back', async () => {
    const { agent, state, deps, artifacts, comeBack, fresh } = setUp()
    await agent.prepare(request(1))
    state.isDown = true
    // A result too large to show, and an epoch, while nothing can be written.
    for (let steps = 2; steps <= 70; steps++) {
      const turn = await agent.prepare(request(steps, 2))
      if (steps === 2) expect(handlesIn(turn.text)).toHaveLength(1)
    }
    const handle = deps.addressOf('local', Buffer.from(resultText(2, 60_000)))
    // What a request shows as cut can be opened meanwhile as well.
    expect(await deps.artifacts.read('local', handle)).toBeUndefined()
    expect(Buffer.from((await artifacts.read('local', handle))!).toString()).toBe(resultText(2, 60_000))
    comeBack()
    expect(await artifacts.flush()).toBe(true)
    const turn = await agent.prepare(request(70, 2))
    expect(Buffer.from((await deps.artifacts.read('local', handle))!).toString()).toBe(resultText(2, 60_000))
    // Another process that has only the store sends the same bytes.
    expect((await fresh().prepare(request(70, 2))).text === turn.text).toBe(true)
    const seen: string[] = []
    for await (const { record } of deps.sessions.read('local', 'test'))
      if (record.type === 'item-seen') seen.push(record.text)
    expect(seen).toContain(resultText(2, 60_000))
    expect(seen).toContain(resultText(70, 400))
  })

  it('cuts nothing that can neither be stored nor held', async () => {
    const { agent, state } = setUp()
    state.isDown = true
    const huge = { tool: 'read', output: 'x'.repeat(40 * 1024 * 1024) }
    const [first, second] = [
      await agent.toolResult(huge),
      await agent.toolResult({ ...huge, output: `${huge.output}y` }),
    ]
    expect([first.truncated, second.truncated]).toEqual([true, false])
    expect(second.text).toHaveLength(huge.output.length + 1)
    const whole = { ...request(3, 2), targets: [{ model: 'claude-sonnet-4-5', window: 200_000 }] }
    expect(handlesIn((await agent.prepare(whole)).text)).toHaveLength(0)
  })

  it('asks no model while the plan is made from memory', async () => {
    const { deps, state, sessions } = setUp()
    let asked = 0
    const summarizer = {
      name: 'counting',
      window: 100_000,
      summarise: async () => {
        asked++
        return { text: 'A summary.', stop: 'end' as const }
      },
    }
    const policy = {
      ...deps.policy,
      design: summaryDesign(0.1),
      cascade: [{ step: 'summarise', tail: 4 } as const, ...deps.policy.cascade],
    }
    const all = { ...deps, policy, summarizer, sessions: breakable(sessions, () => state.isDown) }
    state.isDown = true
    const offline = await createSession(async () => all, { id: 'offline' }).prepare(request(70))
    expect(offline.report.newEpoch).toBeDefined()
    expect(asked).toBe(0)
    state.isDown = false
    await createSession(async () => all, { id: 'online' }).prepare(request(71))
    expect(asked).toBeGreaterThan(0)
  })

  it('refuses what only the store can promise', async () => {
    const { agent, state } = setUp()
    for (let steps = 1; steps <= 60; steps++) await agent.prepare(request(steps))
    state.isDown = true
    await expect(agent.undo()).rejects.toMatchObject({ code: 'store-unavailable', retryable: true })
  })

  it('does not hide other failures', async () => {
    const { deps } = setUp()
    const sessions = {
      ...deps.sessions,
      findEpochs: () => Promise.reject(new PlimsollError('corrupt', 'Torn record.')),
    }
    const agent = createSession(async () => ({ ...deps, sessions }), { id: 'test' })
    await expect(agent.prepare(request(1))).rejects.toMatchObject({ code: 'corrupt' })
  })
})
