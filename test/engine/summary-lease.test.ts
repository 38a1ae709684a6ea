import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { createSession } from '../../src/engine/session/session.ts'
import type { SessionStore } from '../../src/ports/session-store.ts'
import { fakeSummarizer, sound, SUMMARISING } from '../pains/support/summarizer.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const request = {
  format: 'anthropic-messages',
  body: toolLoop({ steps: 60 }),
  targets: [{ model: 'claude-sonnet-4-5', window: 8_000 }],
}

function setUp(sessions: SessionStore, timeMs?: number) {
  const fake = fakeSummarizer(sound)
  const policy = timeMs === undefined ? SUMMARISING : { ...SUMMARISING, timeMs }
  const engine = testEngine({ policy, sessions })
  const deps = { ...engine.deps, summarizer: fake }
  return { fake, session: (id: string) => createSession(async () => deps, { id }) }
}

describe('the right to summarise', () => {
  it('is held by one of many requests on one history at once; the others take its epoch', async () => {
    const { fake, session } = setUp(memoryStore())
    const turns = await Promise.all(Array.from({ length: 5 }, (_, i) => session(`s${i}`).prepare(request)))
    expect(fake.requests).toHaveLength(1)
    expect(new Set(turns.map(({ text }) => text)).size).toBe(1)
  })

  it('is waited for no longer than the policy gives a model, and then code writes the summary', async () => {
    const store = memoryStore()
    const { fake, session } = setUp({ ...store, lease: async () => false }, 20)
    const { epoch, text } = await session('s').prepare(request)
    expect(epoch).toBeDefined()
    expect(text).not.toContain('half of the files')
    expect(fake.requests).toHaveLength(0)
  })

  it('is given back, so that a later epoch can be summarised', async () => {
    const store = memoryStore()
    const held = new Set<string>()
    const { fake, session } = setUp({
      ...store,
      async lease(tenant, work, holder, ttlMs) {
        held.add(work)
        return store.lease(tenant, work, holder, ttlMs)
      },
      async releaseLease(tenant, work, holder) {
        held.delete(work)
        return store.releaseLease(tenant, work, holder)
      },
    })
    const agent = session('s')
    await agent.prepare(request)
    expect(held.size).toBe(0)
    await agent.undo()
    await agent.compact()
    await agent.prepare(request)
    expect(fake.requests).toHaveLength(2)
    expect(held.size).toBe(0)
  })
})
