import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { occurrences } from './support/loop.ts'

const SOURCES = ['ROOT-RULE-4711: never push.', 'NESTED-RULE-0815: tabs only.', 'PROFILE-RULE-1234: answer in verse.']

/** Root instructions in front, a nested file and a profile that the client puts into the history when they come up. */
function body(steps: number): object {
  const messages: object[] = [
    { role: 'system', content: SOURCES[0] },
    { role: 'user', content: 'Work.' },
    { role: 'developer', content: SOURCES[1] },
  ]
  for (let n = 0; n < steps; n++) {
    const id = `call_${n}`
    if (n === 5) messages.push({ role: 'system', content: SOURCES[2] })
    messages.push({
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }],
    })
    messages.push({ role: 'tool', tool_call_id: id, content: resultText(n, 500) })
  }
  return { model: 'gpt-4.1', max_completion_tokens: 256, messages }
}

const request = (steps: number) => ({
  format: 'openai-chat',
  body: body(steps),
  targets: [{ model: 'gpt-4.1', window: 6_000 }],
})
const counts = (text: string): number[] => SOURCES.map((source) => occurrences(text, source))

describe('B2: standing instructions', () => {
  it('occur exactly once and word for word after 1, 2 and 5 compactions, an undo and a resume', async () => {
    const sessions = memoryStore()
    const engine = testEngine({ sessions })
    const session = engine.session()
    let compactions = 0
    for (let steps = 6; compactions < 5; steps++) {
      const turn = await session.prepare(request(steps))
      expect(counts(turn.text)).toEqual([1, 1, 1])
      expect(codecOf('openai-chat').check(JSON.parse(turn.text))).toEqual([])
      if (turn.report.newEpoch === undefined) continue
      compactions++
      const resumed = await testEngine({ sessions }).session().prepare(request(steps))
      expect(counts(resumed.text)).toEqual([1, 1, 1])
    }
    await session.undo()
    expect(counts((await session.prepare(request(40))).text)).toEqual([1, 1, 1])
  })
})
