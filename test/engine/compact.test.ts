import { describe, expect, it } from 'vitest'
import { insertedTexts } from '../../src/core/epochs.ts'
import type { Epoch } from '../../src/core/records.ts'
import { ANTHROPIC, targets } from '../pains/support/loop.ts'
import { fakeSummarizer, sound, SOUND, SUMMARISING, summarisingEngine } from '../pains/support/summarizer.ts'
import { memoryArtifacts } from '../../src/drivers/artifacts/memory.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { toolLoop } from '../support/anthropic-loop.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { testEngine } from '../support/engine.ts'

const request = (steps: number, window = 8_000) => ({
  format: ANTHROPIC,
  body: JSON.stringify(toolLoop({ steps })),
  targets: targets(window),
})

describe('compact', () => {
  it('reduces at once when it is given the request, and says from where to where', async () => {
    const agent = testEngine().session()
    const done = await agent.compact({ request: request(40) })
    expect(done).toMatchObject({ status: 'done' })
    if (done.status !== 'done') return
    expect(done.after).toBeLessThan(policyNamed('plimsoll').water.low * 8_000)
    expect(done.before).toBeGreaterThan(done.after)
    const turn = await agent.prepare(request(40))
    expect(turn.epoch).toBe(done.epoch)
    expect(turn.load.count.high).toBe(done.after)
    expect(turn.report.newEpoch).toBeUndefined()
    expect(await agent.undo()).toBe(done.epoch)
    expect((await agent.prepare(request(40))).report.untouched).toBe(true)
  })

  it('shows first what it would leave, and changes nothing', async () => {
    const sessions = memoryStore()
    const artifacts = memoryArtifacts({ secret: Buffer.alloc(32, 7) })
    const { session, events } = testEngine({ sessions, artifacts })
    const agent = session()
    const logged = async () => {
      const records = []
      for await (const entry of sessions.read('local', agent.id)) records.push(entry)
      return records
    }
    await agent.prepare(request(20, 200_000))
    const before = await logged()
    const told = events.length
    const preview = await agent.compact({ request: request(40), preview: true })
    expect(preview).toMatchObject({ status: 'preview', receipt: { demands: { missing: 0 } } })
    expect(await logged()).toEqual(before)
    expect(events).toHaveLength(told)
    const done = await agent.compact({ request: request(40) })
    const epoch = (await agent.audit()).find(({ type }) => type === 'epoch') as Epoch
    if (preview.status !== 'preview' || done.status !== 'done') throw new Error('nothing was compacted')
    expect(insertedTexts(epoch)).toEqual(preview.record)
    expect(epoch.receipt).toEqual(preview.receipt)
    expect([preview.before, preview.after]).toEqual([done.before, done.after])
  })

  it('only where it is due: below the threshold there is nothing to show', async () => {
    const agent = testEngine().session()
    const options = { preview: true, ifDue: true }
    expect(await agent.compact({ ...options, request: request(10, 200_000) })).toMatchObject({ status: 'nothing' })
    expect(await agent.compact({ ...options, request: request(200) })).toMatchObject({ status: 'preview' })
    await expect(agent.compact({ preview: true })).rejects.toThrow('A preview needs the request.')
  })

  it.each([10, 15, 20])('below low water halves what is there (%i steps)', async (steps) => {
    const agent = testEngine().session()
    await agent.prepare(request(steps, 20_000))
    const done = await agent.compact({ request: request(steps, 20_000) })
    expect(done).toMatchObject({ status: 'done' })
    if (done.status === 'done') expect(done.after).toBeLessThan(0.7 * done.before)
  })

  it('says why when nothing can be gained, and asks for nothing later', async () => {
    const agent = testEngine().session()
    const tiny = { format: ANTHROPIC, body: toolLoop({ steps: 0 }), targets: targets() }
    const done = await agent.compact({ request: tiny })
    expect(done).toMatchObject({
      status: 'nothing',
      reason: 'everything left must be kept, or is too small to be worth removing',
    })
    expect((await agent.prepare(request(20))).report.untouched).toBe(true)
  })

  it('without a request happens with the next one', async () => {
    const agent = testEngine().session()
    expect(await agent.compact()).toEqual({ status: 'with-next-request' })
    expect((await agent.prepare(request(20))).report.newEpoch).toBeDefined()
  })

  it('reaches the process that makes the next request, and happens once', async () => {
    const sessions = memoryStore()
    const artifacts = memoryArtifacts({ secret: Buffer.alloc(32, 7) })
    const [asking, working, later] = [1, 2, 3].map(() => testEngine({ sessions, artifacts }).session())
    expect((await working!.prepare(request(20))).report.newEpoch).toBeUndefined()
    await asking!.compact({ instructions: 'mind the numbers' })
    const turn = await working!.prepare(request(20))
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.text).toContain('The user asked of this summary: mind the numbers')
    expect((await working!.prepare(request(20))).report.newEpoch).toBeUndefined()
    expect((await later!.prepare(request(20))).report.newEpoch).toBeUndefined()
  })

  it('is not tried again by a process that comes later when nothing could be gained', async () => {
    const sessions = memoryStore()
    const tiny = { format: ANTHROPIC, body: toolLoop({ steps: 0 }), targets: targets() }
    const agent = testEngine({ sessions }).session()
    await agent.compact()
    await agent.prepare(tiny)
    expect((await testEngine({ sessions }).session().prepare(request(20))).report.untouched).toBe(true)
  })

  it('hands its instructions to the summarizer and keeps them beside the summary', async () => {
    const wish = 'keep every file name that ends in -7.ts'
    const fake = fakeSummarizer(sound)
    const { agent } = summarisingEngine(fake)
    const done = await agent.compact({ instructions: ` ${wish} `, request: request(40) })
    expect(done.status).toBe('done')
    expect(fake.requests).toHaveLength(1)
    expect(fake.requests[0]!.system).toContain(`The user asks of this summary: ${wish}`)
    const turn = await agent.prepare(request(41))
    expect(turn.text).toContain(SOUND)
    expect(turn.text).toContain(`The user asked of this summary: ${wish}`)
    // The next reduction is nobody's wish any more.
    await agent.compact({ request: request(50) })
    expect(fake.requests.at(-1)!.system).not.toContain(wish)
  })

  it('keeps its instructions where code alone writes', async () => {
    const agent = testEngine().session()
    await agent.compact({ instructions: 'mind the numbers', request: request(40) })
    expect((await agent.prepare(request(40))).text).toContain('The user asked of this summary: mind the numbers')
  })

  it('goes on by code when the summarizer is down', async () => {
    const { agent } = summarisingEngine(
      fakeSummarizer(() => Promise.reject(new Error('down'))),
      SUMMARISING,
    )
    expect(await agent.compact({ instructions: 'x', request: request(40) })).toMatchObject({ status: 'done' })
  })
})
