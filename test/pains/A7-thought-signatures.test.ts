import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const WIRE = 'gemini'
const codec = codecOf(WIRE)
const SENTINEL = 'skip_thought_signature_validator'
const MODEL = 'gemini-3-pro'

/** Two calls per step; as the vendor does, only the first is signed. */
function body(steps: number): object {
  const contents: object[] = [{ role: 'user', parts: [{ text: 'Look.' }] }]
  for (let n = 0; n < steps; n++) {
    const call = (i: number) => ({ functionCall: { id: `c${n}_${i}`, name: 'read', args: { n, i } } })
    contents.push({ role: 'model', parts: [{ ...call(0), thoughtSignature: `c2lnbmF0dXJl${n}` }, call(1)] })
    contents.push({
      role: 'user',
      parts: [0, 1].map((i) => ({
        functionResponse: { id: `c${n}_${i}`, name: 'read', response: { output: resultText(n, 400) } },
      })),
    })
  }
  return { contents }
}

interface Part {
  readonly functionCall?: { readonly id: string }
  readonly thoughtSignature?: string
}
const partsOf = (text: string): Part[] =>
  (JSON.parse(text) as { contents: { parts: Part[] }[] }).contents.flatMap(({ parts }) => parts)

describe('A7: thought signatures', () => {
  it('stay byte-identical in place through folds, the store and a new process', async () => {
    const sessions = memoryStore()
    const targets = [{ model: MODEL, window: 6_000 }]
    let text = ''
    for (let steps = 1; steps <= 40; steps++) {
      // Each request in a process of its own.
      const session = testEngine({ sessions }).session()
      text = (await session.prepare({ format: WIRE, body: body(steps), targets })).text
      expect(codec.check(JSON.parse(text), { model: MODEL })).toEqual([])
      for (const { functionCall, thoughtSignature } of partsOf(text)) {
        if (functionCall === undefined) continue
        const [n, i] = functionCall.id.slice(1).split('_')
        expect(thoughtSignature).toBe(i === '0' ? `c2lnbmF0dXJl${n}` : undefined)
      }
    }
    const archived = new Set<string>()
    for await (const { record } of sessions.read('local', 'test'))
      if (record.type === 'item-seen') archived.add(record.fragment)
    const signed = partsOf(JSON.stringify(body(40))).filter((part) => part.thoughtSignature !== undefined)
    expect(signed.filter((part) => !archived.has(JSON.stringify(part)))).toEqual([])
  })

  it('are stood in for by one sentinel per step when the calls come from another wire', () => {
    const call = (id: string) => ({ type: 'tool_use', id, name: 'read', input: {} })
    const result = (id: string) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })
    const foreign = codecOf('anthropic-messages').decode(
      JSON.stringify({
        model: 'claude-sonnet-4-5',
        max_tokens: 9,
        messages: [
          { role: 'user', content: 'Look.' },
          { role: 'assistant', content: [call('a'), call('b')] },
          { role: 'user', content: [result('a'), result('b')] },
        ],
      }),
    )
    const { text } = codec.encode(foreign)
    expect(codec.check(JSON.parse(text), { model: MODEL })).toEqual([])
    expect(text.split(SENTINEL)).toHaveLength(2)
  })
})
