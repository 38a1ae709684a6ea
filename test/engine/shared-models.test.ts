import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { PLAIN_WIRES, type Turn } from '../gateway/plain-wires.ts'
import { words } from '../learning/words.ts'

type Wire = keyof typeof PLAIN_WIRES
const WIRES = Object.keys(PLAIN_WIRES) as Wire[]
const open = () => createPlimsoll({ store: 'memory:', artifacts: 'memory:', secret: Buffer.alloc(32, 1) })

describe('two models that share a history', () => {
  it.each(WIRES)('%s: the one with more room is not shrunk by what was made for the other', async (format) => {
    const plimsoll = open()
    try {
      const session = plimsoll.session({ id: 's' })
      const turns: Turn[] = [{ user: 'Fix it with two models.' }]
      let [before, cuts] = [0, 0]
      for (let step = 0; step < 60; step++) {
        const isSmall = step % 3 === 2
        const targets = [isSmall ? { model: 'worker', window: 20_000 } : { model: 'planner', window: 48_000 }]
        const body = JSON.stringify(PLAIN_WIRES[format].request(turns))
        const turn = await session.prepare({ format, body, targets })
        const { tokens } = turn.load.count
        if (isSmall) expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
        else {
          if (tokens < before) cuts++
          if (cuts === 0) expect(turn.report.untouched).toBe(true)
          before = tokens
        }
        const usage = { input: Math.round(tokens), output: 20, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
        await session.record({ turn: turn.id, usage })
        turns.push({ id: `call_${step}`, result: words(step, 5_000) })
      }
      expect(cuts).toBeGreaterThan(0)
      expect(cuts).toBeLessThanOrEqual(4)
    } finally {
      await plimsoll.close()
    }
  })
})

describe('a first message larger than the window', () => {
  it.each(WIRES)('%s: later messages stay whole, and it still says what to do', async (format) => {
    const plimsoll = open()
    try {
      const session = plimsoll.session({ id: 's' })
      const log = Array.from(
        { length: 2_500 },
        (_, i) => `2026-11-14T22:13:${String(i % 60).padStart(2, '0')}Z ERROR [unit-${i % 97}] ${words(i, 60)}`,
      ).join('\n')
      const ask = 'TASK: say which unit fails first in the log below.'
      const turns: Turn[] = [{ user: `${ask}\n${log}\nEND OF TASK, answer briefly.` }]
      let compactions = 0
      for (let step = 0; step < 60; step++) {
        const body = JSON.stringify(PLAIN_WIRES[format].request(turns))
        const turn = await session.prepare({ format, body, targets: [{ model: 'claude-sonnet-4-5', window: 16_000 }] })
        if (turn.report.newEpoch !== undefined) compactions++
        expect(turn.text).toContain(ask)
        expect(turn.text).toContain('END OF TASK, answer briefly.')
        for (const one of turns.slice(1)) if ('user' in one) expect(turn.text, `step ${step}`).toContain(one.user)
        const input = Math.round(turn.load.count.tokens)
        const usage = { input, output: 20, reasoning: 0, cacheRead: 0, cacheWrite: 0 }
        await session.record({ turn: turn.id, usage })
        if (step % 5 === 4) turns.push({ assistant: `done ${step}` }, { user: `wish ${step}` })
        else turns.push({ id: `call_${step}`, result: words(step, 3_000) })
      }
      expect(compactions).toBeGreaterThan(1)
    } finally {
      await plimsoll.close()
    }
  })
})

describe('a client with a compaction of its provider', () => {
  it('keeps what the user wrote before it, on the wire where it stands for all else', async () => {
    const plimsoll = open()
    try {
      const session = plimsoll.session({ id: 's' })
      const said = (text: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] })
      const wishes = ['Fix PARSE-4471.', 'RULE: never touch /prod.', 'Use tabs.', 'Then write the changelog.']
      const input: object[] = [
        ...wishes.map(said),
        { type: 'compaction', encrypted_content: 'gAAAA'.repeat(600) },
        said('Go on.'),
      ]
      let compactions = 0
      for (let step = 0; step < 40 && compactions < 3; step++) {
        const body = JSON.stringify({ model: 'gpt-5', store: false, input })
        const turn = await session.prepare({
          format: 'openai-responses',
          body,
          targets: [{ model: 'gpt-5', window: 32_000 }],
        })
        if (turn.report.newEpoch !== undefined) compactions++
        for (const wish of wishes) expect(turn.text).toContain(wish)
        await session.record({ turn: turn.id })
        input.push(
          { type: 'function_call', call_id: `c${step}`, name: 'shell', arguments: '{}' },
          { type: 'function_call_output', call_id: `c${step}`, output: words(step, 9_000) },
        )
      }
      expect(compactions).toBe(3)
    } finally {
      await plimsoll.close()
    }
  })
})
