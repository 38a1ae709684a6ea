import { describe, expect, it } from 'vitest'
import { createSession } from '../../src/engine/session/session.ts'
import { runLoop } from './support/loop.ts'
import { fakeSummarizer, sound, summarisingEngine } from './support/summarizer.ts'

describe('I3: two agents of one session', () => {
  it('never see each other’s words, in requests or in what is summarised', async () => {
    const fake = fakeSummarizer(sound)
    const { deps, events } = summarisingEngine(fake)
    const agents = ['one', 'two'].map((name) => ({
      secret: `SECRET-OF-${name}`,
      other: `SECRET-OF-${name === 'one' ? 'two' : 'one'}`,
      session: createSession(async () => deps, { id: 'shared', agent: name }),
    }))
    for (let steps = 1; steps <= 70; steps++) {
      for (const { secret, other, session } of agents) {
        const asked = fake.requests.length
        const turn = await runLoop(session, { from: steps, to: steps, task: `The word is ${secret}.` })
        expect(turn.text).toContain(secret)
        expect(turn.text).not.toContain(other)
        for (const { prompt } of fake.requests.slice(asked)) expect(prompt).not.toContain(other)
      }
    }
    expect(fake.requests.length).toBeGreaterThanOrEqual(2)
    // Their histories are nearly the same, and still neither takes over what was decided for the other.
    expect(events.filter((event) => event.type === 'epoch-reanchored' || event.type === 'epoch-orphaned')).toEqual([])
  })
})
