import { describe, expect, it } from 'vitest'
import { backgroundWork } from '../../src/engine/session/background-work.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { testEngine } from '../support/engine.ts'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, SOUND, sound, SUMMARISING } from './support/summarizer.ts'

describe('F2: a summary that takes long', () => {
  it('is written while requests go on, and stands in the first one after it is done', async () => {
    let finish = (): void => undefined
    const written = new Promise<void>((resolve) => (finish = resolve))
    const fake = fakeSummarizer(async () => {
      await written
      return sound()
    })
    const work = backgroundWork()
    const running: Promise<void>[] = []
    const background: typeof work = {
      ...work,
      run(task) {
        const started = work.run(task)
        if (started !== undefined) running.push(started.over)
        return started
      },
    }
    const engine = testEngine({ policy: { ...SUMMARISING, summaries: { backgroundFrom: 0.6 } } })
    const agent = createSession(async () => ({ ...engine.deps, summarizer: fake, background }), { id: 'test' })
    // Nobody waits: forty requests leave as they came although the summary is not there yet.
    await runLoop(agent, { to: 40, onTurn: (turn) => expect(turn.report.untouched).toBe(true) })
    expect(fake.requests).toHaveLength(1)
    finish()
    await Promise.all(running)
    const turn = await runLoop(agent, { from: 41, to: 41 })
    expect(turn.text).toContain(SOUND)
    expect(turn.report.newEpoch?.forced).toBe(false)
    await work.close()
  })
})
