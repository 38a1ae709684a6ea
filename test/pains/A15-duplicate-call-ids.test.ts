import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'
import { testEngine } from '../support/engine.ts'

const call = (n: number) => ({ id: 'call_0', type: 'function', function: { name: 'read', arguments: `{"n":${n}}` } })
const result = (n: number) => ({ role: 'tool', tool_call_id: 'call_0', content: `result ${n}` })

/** `call_0` anew in five turns, and twice in the last of them. */
const messages = [
  { role: 'user', content: 'Go.' },
  ...[0, 1, 2, 3].flatMap((n) => [{ role: 'assistant', content: null, tool_calls: [call(n)] }, result(n)]),
  { role: 'assistant', content: null, tool_calls: [call(4), call(5)] },
  result(4),
  result(5),
]
const body = { model: 'gpt-4.1', messages }

describe('A15: one call id in many calls', () => {
  it.each(['anthropic-messages', 'openai-responses', 'gemini'])('is lowered to unique, paired ids on %s', (wire) => {
    const target = codecOf(wire)
    const { text } = target.encode(codecOf('openai-chat').decode(JSON.stringify(body)))
    expect(target.check(JSON.parse(text))).toEqual([])
    const { items } = target.decode(text)
    const calls = items.filter((item) => item.kind === 'call')
    expect(new Set(calls.map((item) => item.callId)).size).toBe(6)
    expect(calls.map((item) => (JSON.parse(item.text) as { n: number }).n)).toEqual([0, 1, 2, 3, 4, 5])
    for (const [n, { callId }] of calls.entries()) {
      expect(items.find((item) => item.kind === 'result' && item.callId === callId)!.text).toContain(`result ${n}`)
    }
  })

  it('is paired by occurrence on its own wire: a fold takes calls and results of the same turns', async () => {
    const long = [
      messages[0]!,
      ...Array.from({ length: 30 }, (_, n) => [
        { role: 'assistant', content: null, tool_calls: [call(n)] },
        { role: 'tool', tool_call_id: 'call_0', content: `result ${n} ${'x'.repeat(400)}` },
      ]).flat(),
    ]
    const turn = await testEngine()
      .session()
      .prepare({
        format: 'openai-chat',
        body: { ...body, messages: long },
        targets: [{ model: 'gpt-4.1', window: 3_500 }],
      })
    expect(turn.edits.length).toBeGreaterThan(0)
    const sent = codecOf('openai-chat').decode(turn.text).items
    const numbers = (kind: string) =>
      sent.filter((item) => item.kind === kind).map((item) => Number(/\d+/.exec(item.text)![0]))
    expect(numbers('call').length).toBeGreaterThan(0)
    expect(numbers('result')).toEqual(numbers('call'))
  })
})
