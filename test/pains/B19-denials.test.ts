import { describe, expect, it } from 'vitest'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { inJson, prepareMessages } from './support/loop.ts'

const DENIAL = 'The user rejected this: "never touch production, not even to read".'

function history(steps: number): object[] {
  const messages: object[] = [{ role: 'user', content: 'Deploy.' }]
  for (let n = 0; n < steps; n++) {
    const isDenied = n === 2
    messages.push({
      role: 'assistant',
      content: [{ type: 'tool_use', id: `toolu_${n}`, name: isDenied ? 'deploy' : 'read', input: { n } }],
    })
    const content = isDenied ? DENIAL : resultText(n, 500)
    messages.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: `toolu_${n}`, content, is_error: isDenied }],
    })
  }
  return messages
}

describe('B19: a denial', () => {
  it('is in every request word for word through five compactions', async () => {
    const session = testEngine().session()
    let compactions = 0
    for (let steps = 3; compactions < 5; steps++) {
      const turn = await prepareMessages(session, history(steps), 8_000)
      if (turn.report.newEpoch !== undefined) compactions++
      expect(turn.text).toContain(inJson(DENIAL))
    }
  })
})
