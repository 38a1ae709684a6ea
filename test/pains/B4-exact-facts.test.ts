import { describe, expect, it } from 'vitest'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

const FACTS = [
  'port 48213', 'commit 9f3c1e07ab', '/srv/dock/berth-b4.yaml', 'exit code 137', 'ERR_TIDE_0x7F3A', 'draught 7.231 m',
  'ticket HARB-9921', 'token-bucket=1750/min',
] // prettier-ignore

/** Eight results with one opaque fact each, then filler. */
function body(steps: number): string {
  const loop = toolLoop({ steps, resultLength: 500 })
  for (const [i, fact] of FACTS.entries()) {
    const message = loop.messages[2 + 2 * i] as { content: { content: string }[] } | undefined
    if (message !== undefined) message.content[0]!.content = `seen: ${fact}\n${message.content[0]!.content}`
  }
  return JSON.stringify(loop)
}

describe('B4: exact facts', () => {
  it('are in the request or found in the archive after six compactions, and compacting again changes no byte', async () => {
    const { session, deps, events } = testEngine()
    const agent = session()
    const request = (steps: number) => ({ format: ANTHROPIC, body: body(steps), targets: targets() })
    for (let steps = 26; steps <= 56; steps += 5) {
      await agent.prepare(request(steps))
      await agent.compact()
    }
    const last = await agent.prepare(request(56))
    expect(events.filter((event) => event.type === 'epoch-declared').length).toBeGreaterThanOrEqual(6)
    for (const fact of FACTS) {
      const hits = await deps.sessions.search('local', fact, { session: 'test', limit: 5 })
      const isFound =
        last.text.includes(JSON.stringify(fact).slice(1, -1)) || hits.some(({ excerpt }) => excerpt.includes(fact))
      expect(isFound, fact).toBe(true)
      // The archive finds it whether it is still in view or not.
      expect(
        hits.some(({ excerpt }) => excerpt.includes(fact)),
        fact,
      ).toBe(true)
    }
    await agent.compact()
    expect((await agent.prepare(request(56))).text === last.text).toBe(true)
  })
})
