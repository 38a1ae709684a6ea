import { describe, expect, it } from 'vitest'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

/** Two requests 61 seconds apart: the client puts the time and the git status into its newest message only. */
function body(steps: number, minute: number): string {
  const loop = toolLoop({ steps })
  const last = loop.messages.at(-1) as { content: object[] }
  const reminder = `<system-reminder>It is 08:${minute}; git status: ${minute} files changed.</system-reminder>`
  loop.messages[loop.messages.length - 1] = { role: 'user', content: [...last.content, { type: 'text', text: reminder }] }
  return JSON.stringify({ ...loop, system: 'Be careful.' })
}

describe('E7: volatile text', () => {
  it('does not cost the prefix: what an epoch made stands over requests whose reminders differ', async () => {
    const { session, events } = testEngine()
    const agent = session()
    const send = async (steps: number, minute: number): Promise<string[]> => {
      const turn = await agent.prepare({ format: ANTHROPIC, body: body(steps, minute), targets: targets() })
      return (JSON.parse(turn.text) as { messages: object[] }).messages.map((message) => JSON.stringify(message))
    }
    const first = await send(70, 15)
    const second = await send(71, 16)
    expect(events.filter((event) => event.type === 'epoch-declared')).toHaveLength(1)
    // All but the newest message, which held the reminder.
    expect(second.slice(0, first.length - 1)).toEqual(first.slice(0, -1))
    // The clock of the engine, which ticks with every call, is in no request.
    const again = await send(71, 16)
    expect(again).toEqual(second)
  })
})
