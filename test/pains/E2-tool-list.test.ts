import { describe, expect, it } from 'vitest'
import { toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { ANTHROPIC, targets } from './support/loop.ts'

const tool = (name: string) => ({ name, description: `Does ${name}.`, input_schema: { type: 'object' } })
const LISTS = { plain: ['read', 'bash'], shuffled: ['bash', 'read'], activated: ['read', 'bash', 'deploy'] }

describe('E2: a tool list that changes', () => {
  it('leaves as the client wrote it, and costs no epoch: what was reduced stays reduced', async () => {
    const { session, events } = testEngine()
    const agent = session()
    let messages = ''
    for (const [n, names] of [LISTS.plain, LISTS.plain, LISTS.shuffled, LISTS.activated, LISTS.plain].entries()) {
      const tools = names.map(tool)
      const body = JSON.stringify({ ...toolLoop({ steps: 70 }), tools })
      const { text } = await agent.prepare({ format: ANTHROPIC, body, targets: targets() })
      expect(text).toContain(`"tools":${JSON.stringify(tools)}`)
      const sent = JSON.stringify((JSON.parse(text) as { messages: object[] }).messages)
      if (n > 0) expect(sent === messages).toBe(true)
      messages = sent
    }
    expect(events.filter((event) => event.type === 'epoch-declared')).toHaveLength(1)
  })
})
