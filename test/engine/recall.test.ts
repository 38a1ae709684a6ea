import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { answerRecall } from '../../src/engine/readers/recall.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const request = (steps: number, length = 400) => ({
  format: 'anthropic-messages',
  body: toolLoop({ steps, resultLength: length }),
  targets: [{ model: 'claude-sonnet-4-5', window: 8_000 }],
})

describe('recall', () => {
  it('finds what an epoch took out of view', async () => {
    const agent = testEngine().session()
    for (let steps = 1; steps <= 60; steps++) await agent.prepare(request(steps))
    const { items, text } = await agent.recall('value_3_5')
    expect(items[0]).toMatchObject({ kind: 'result', callId: 'toolu_3' })
    expect(text).toContain('const value_3_5 = compute(15)')
  })

  it('shows the place in a long text, within its bounds', async () => {
    const agent = testEngine().session()
    await agent.prepare(request(2, 90_000))
    const { items, text } = await agent.recall('value_2_1500', { maxCharacters: 1_000, limit: 3 })
    expect(text.length).toBeLessThanOrEqual(1_000)
    expect(items[0]!.excerpt).toContain('value_2_1500')
    expect(items[0]!.characters).toBe(90_000)
  })

  it('is bounded whatever was found', async () => {
    const agent = testEngine().session()
    for (let steps = 1; steps <= 40; steps++) await agent.prepare(request(steps))
    for (const maxCharacters of [200, 1_000, 6_000]) {
      const { items, text } = await agent.recall('const compute value', { maxCharacters, limit: 1_000 })
      expect(items.length).toBeLessThanOrEqual(20)
      expect(text.length).toBeLessThanOrEqual(maxCharacters)
    }
  })

  it('finds what a fork shares with its origin, and nothing of another session', async () => {
    const sessions = memoryStore()
    const engine = testEngine({ sessions })
    const one = engine.session('one')
    await one.prepare(request(10))
    const other = engine.session('other')
    await other.prepare({ ...request(1), body: { ...toolLoop({ steps: 1, task: 'The codeword is xylophone.' }) } })
    // The same history under another name.
    const two = engine.session('two')
    await two.prepare(request(11))
    expect((await two.recall('value_4_2', { limit: 1 })).items).toMatchObject([{ callId: 'toolu_4' }])
    expect((await two.recall('xylophone')).items).toEqual([])
    expect((await two.recall('xylophone')).text).toMatch(/^Nothing in this conversation mentions/)
  })

  it('finds nothing of another agent of the session, nor of a branch that was left', async () => {
    const { deps } = testEngine()
    const agent = (name: string) => createSession(async () => deps, { id: 'run', agent: name })
    const parent = agent('parent')
    await parent.prepare({ ...request(1), body: toolLoop({ steps: 1, task: 'The codeword is xylophone.' }) })
    const sub = agent('sub')
    // From the archive, before it has seen a request, and from its history afterwards.
    expect((await sub.recall('xylophone')).items).toEqual([])
    await sub.prepare({ ...request(1), body: toolLoop({ steps: 1, task: 'Fetch this page.' }) })
    expect((await sub.recall('xylophone')).items).toEqual([])
    expect((await parent.recall('xylophone')).items[0]?.excerpt).toContain('xylophone')
    await parent.prepare({ ...request(1), body: toolLoop({ steps: 1, task: 'Another word.' }) })
    expect((await parent.recall('xylophone')).items).toEqual([])
  })

  it('tells the model what is wrong with its question', async () => {
    const nothing = async () => ({ items: [], text: '' })
    const refused = { ok: false, text: expect.stringMatching(/needs a query/) as unknown }
    expect(await answerRecall(nothing, { limit: 3 })).toMatchObject(refused)
    expect(await answerRecall(nothing, undefined)).toMatchObject(refused)
    await expect(testEngine().session().recall(' ')).rejects.toMatchObject({ code: 'bad-input' })
  })
})

describe('export and import of one session', () => {
  const secret = Buffer.alloc(32, 3)
  const open = () => createPlimsoll({ store: memoryStore(), artifacts: 'memory:', secret })

  it('moves a session with its artifacts to another store, where it goes on with the same bytes', async () => {
    const here = open()
    const there = open()
    try {
      const agent = here.session({ id: 'run' })
      await here.session({ id: 'private' }).prepare(request(3))
      let sent = ''
      for (let steps = 1; steps <= 60; steps++) {
        const length = (step: number): number => (step === 2 ? 60_000 : 400)
        sent = (await agent.prepare({ ...request(steps), body: toolLoop({ steps, resultLength: length }) })).text
      }
      const lines: string[] = []
      for await (const line of agent.export()) lines.push(line)
      expect(lines.join('\n')).not.toContain('"private"')
      const report = await there.importSession(lines)
      expect(report).toMatchObject({ sessions: 1, known: 0 })
      expect(report.artifacts).toBeGreaterThan(0)
      const length = (step: number): number => (step === 2 ? 60_000 : 400)
      const again = await there
        .session({ id: 'run' })
        .prepare({ ...request(60), body: toolLoop({ steps: 60, resultLength: length }) })
      expect(again.text === sent).toBe(true)
      expect((await there.session({ id: 'run' }).recall('value_2_1000')).items[0]!.characters).toBe(60_000)
      // Once more changes nothing.
      expect(await there.importSession(lines)).toMatchObject({ records: 0 })
    } finally {
      await here.close()
      await there.close()
    }
  })

  it('refuses a file that reaches for another tenant', async () => {
    const here = open()
    const there = open()
    try {
      const agent = here.session({ id: 'run', tenant: 'mallory' })
      await agent.prepare(request(2))
      const lines: string[] = []
      for await (const line of agent.export()) lines.push(line)
      await expect(there.importSession(lines, { tenant: 'alice' })).rejects.toMatchObject({ code: 'forbidden' })
      expect((await there.session({ id: 'run', tenant: 'mallory' }).audit()).length).toBe(0)
    } finally {
      await here.close()
      await there.close()
    }
  })
})
