import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { pruneStore, verifyStore } from '../../src/engine/store-admin/store-admin.ts'
import { createSession, type Session } from '../../src/engine/session/session.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const LARGE = 3
const request = (steps: number) => ({
  format: 'anthropic-messages',
  body: toolLoop({ steps, resultLength: (step) => (step === LARGE ? 60_000 : 400) }),
  targets: [{ model: 'claude-sonnet-4-5', window: 8_000 }],
})

async function setUp() {
  let now = 1_000
  const clock = { now: () => now++ }
  const sessions = memoryStore({ clock })
  const engine = testEngine({ sessions })
  const deps = { ...engine.deps, clock }
  const session = (id: string): Session => createSession(async () => deps, { id })
  const first = session('first')
  for (let steps = 1; steps <= 60; steps++) await first.prepare(request(steps))
  return { ...engine, deps, sessions, session, first, later: () => (now += 1_000_000) }
}

describe('two sessions with one prefix', () => {
  it('send the same bytes, and the second goes on with them when the first was pruned', async () => {
    const { session, sessions, deps, later } = await setUp()
    const before = later()
    const second = session('second')
    const shared = await second.prepare(request(60))
    expect(shared.epoch).toBeDefined()
    const gone = await pruneStore(sessions, { before, artifacts: deps.artifacts, rule: { maxAgeMs: 0, keep: 0 } })
    expect(gone.sessions.map((one) => one.session)).toEqual(['first'])
    // As another process would see it: nothing but the store.
    const reopened = session('second')
    const again = await reopened.prepare(request(60))
    expect(again.text).toBe(shared.text)
    expect(again.epoch).toBe(shared.epoch)
  })

  it('each keep everything that was taken out: by recall, by handle, and in the log', async () => {
    const { session, sessions, deps, later } = await setUp()
    const before = later()
    const { text } = await session('second').prepare(request(60))
    await pruneStore(sessions, { before, artifacts: deps.artifacts, rule: { maxAgeMs: 0, keep: 0 } })
    const reopened = session('second')
    for (const step of [1, 20, 40]) {
      const { items } = await reopened.recall(`value_${step}_2`, { limit: 1 })
      expect(items).toMatchObject([{ callId: `toolu_${step}` }])
    }
    for (const handle of handlesIn(text)) expect(await deps.artifacts.read('local', handle)).toBeDefined()
    const edited = (await reopened.audit()).length
    expect(edited).toBeGreaterThan(0)
    const large = deps.addressOf('local', Buffer.from(resultText(LARGE, 60_000)))
    expect(Buffer.from((await deps.artifacts.read('local', large))!).toString()).toBe(resultText(LARGE, 60_000))
    expect(await verifyStore(sessions, { artifacts: deps.artifacts })).toMatchObject({ clean: true, dangling: [] })
  })
})
