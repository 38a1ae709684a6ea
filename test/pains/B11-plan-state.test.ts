import { describe, expect, it } from 'vitest'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { inJson, prepareMessages } from './support/loop.ts'

const STATUS = [
  'completed',
  'completed',
  'in_progress',
  'pending',
  'pending',
  'pending',
  'blocked: needs the key of Ada',
]
const plan = (done: boolean) => ({
  todos: STATUS.map((status, n) => ({
    content: `Step ${n}: careful "words" №${n}`,
    status: done ? status : 'pending',
  })),
})

const MARKS = ['[x]', '[x]', '[~]', '[ ]', '[ ]', '[ ]', '[ ]']
const LISTED = STATUS.map((status, n) => {
  const note = status.startsWith('blocked') ? ` (${status})` : ''
  return `${MARKS[n]} Step ${n}: careful "words" №${n}${note}\n`
})

function history(steps: number): object[] {
  const messages: object[] = [{ role: 'user', content: 'Do it.' }]
  const step = (n: number, name: string, input: object, result: string): void => {
    messages.push({ role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${n}`, name, input }] })
    messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: `toolu_${n}`, content: result }] })
  }
  step(900, 'TodoWrite', plan(false), 'ok')
  step(901, 'TodoWrite', plan(true), 'ok')
  for (let n = 0; n < steps; n++) step(n, 'read', { path: `f${n}` }, resultText(n, 500))
  return messages
}

describe('B11: the plan', () => {
  it('is listed with identical text and status after three compactions', async () => {
    const session = testEngine().session()
    let compactions = 0
    for (let steps = 1; compactions < 3; steps++) {
      const turn = await prepareMessages(session, history(steps), 8_000)
      if (turn.report.newEpoch === undefined) continue
      compactions++
      expect(turn.text).not.toContain('toolu_901')
      for (const line of LISTED) expect(turn.text).toContain(inJson(line))
      // The next item stands once more with the state of the work.
      expect(turn.text.split(inJson('careful "words"'))).toHaveLength(STATUS.length + 2)
    }
  })
})
