import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { occurrences } from './support/loop.ts'

const WIRE = 'openai-responses'
const codec = codecOf(WIRE)

const step = (n: number): object[] => [
  { type: 'function_call', call_id: `call_${n}`, name: 'read', arguments: '{}' },
  { type: 'function_call_output', call_id: `call_${n}`, output: resultText(n, 700) },
]
const approval = {
  type: 'function_call',
  call_id: 'call_deploy',
  name: 'deploy',
  arguments: JSON.stringify({ to: 'production', plan: resultText(99, 4_000) }),
}
const said = (content: string): object => ({ role: 'user', content })

const send = (session: ReturnType<ReturnType<typeof testEngine>['session']>, input: object[], window = 5_000) =>
  session.prepare({
    format: WIRE,
    body: { model: 'gpt-5.1', max_output_tokens: 128, input },
    targets: [{ model: 'gpt-5.1', window }],
  })

describe('A5: a call that waits for its result', () => {
  it('survives a compaction in the newest step, and its late result lands on it once', async () => {
    const engine = testEngine()
    const session = engine.session()
    const history = [said('Ship it.'), ...Array.from({ length: 12 }, (_, n) => step(n)).flat()]
    const open = [...history, approval]
    await session.compact()
    const compacted = await send(session, open)
    expect(compacted.report.newEpoch).toBeDefined()
    expect(compacted.text).toContain('call_deploy')
    const late = [...open, said('One.'), said('Two.'), said('Three.')]
    late.push({ type: 'function_call_output', call_id: 'call_deploy', output: 'APPROVED by Ada' })
    const turn = await send(session, late)
    expect(codec.check(JSON.parse(turn.text))).toEqual([])
    expect(occurrences(turn.text, 'APPROVED by Ada')).toBe(1)
    expect(occurrences(turn.text, '"call_deploy"')).toBe(2)
  })
})
