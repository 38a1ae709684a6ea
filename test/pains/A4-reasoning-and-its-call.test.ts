import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const WIRE = 'openai-responses'
const codec = codecOf(WIRE)

/** Reasoning, a text and a call in one step; every third step an MCP call that the provider ran itself. */
function transcript(steps: number, stored: boolean): object {
  const input: object[] = [{ role: 'user', content: 'Find the bug.' }]
  for (let n = 0; n < steps; n++) {
    input.push({ type: 'reasoning', id: `rs_${n}`, summary: [], ...(!stored && { encrypted_content: `enc${n}` }) })
    if (n % 3 === 0)
      input.push({ type: 'mcp_call', id: `mcp_${n}`, server_label: 's', name: 'find', arguments: '{}', output: 'x' })
    input.push({ type: 'function_call', id: `fc_${n}`, call_id: `call_${n}`, name: 'read', arguments: '{"path":"a"}' })
    input.push({ type: 'function_call_output', call_id: `call_${n}`, output: resultText(n, 600) })
  }
  return { model: 'gpt-5.1', store: stored, max_output_tokens: 256, input }
}

describe('A4: a Responses reasoning item and what it led to', () => {
  it.each([true, false])('stay or go together in every prefix (store: %s)', async (stored) => {
    const session = testEngine().session()
    let folded = 0
    for (let steps = 1; steps <= 60; steps++) {
      const body = transcript(steps, stored)
      const turn = await session.prepare({ format: WIRE, body, targets: [{ model: 'gpt-5.1', window: 6_000 }] })
      const sent = JSON.parse(turn.text) as { input: { type?: string; id?: string }[] }
      expect(codec.check(sent)).toEqual([])
      const ids = (kind: string): Set<string> =>
        new Set(sent.input.filter(({ type }) => type === kind).map(({ id }) => id!.split('_')[1]!))
      expect(ids('reasoning')).toEqual(ids('function_call'))
      for (const n of ids('mcp_call')) expect(ids('reasoning')).toContain(n)
      if (ids('reasoning').size < steps) folded++
    }
    expect(folded).toBeGreaterThan(20)
  })
})
