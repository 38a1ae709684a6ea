import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import type { Policy } from '../../src/core/policy.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

const policy: Policy = { ...policyNamed('plimsoll'), cascade: [{ step: 'squeeze', floorTokens: 60 }] }
const step = (id: string, content: string): object[] => [
  { role: 'assistant', content: [{ type: 'tool_use', id, name: 'read', input: { id } }] },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content }] },
]
const resultsOf = (text: string): string[] =>
  anthropicMessages
    .decode(text)
    .items.filter((item) => item.kind === 'result')
    .map((item) => item.text)

describe('B20: repeated outputs', () => {
  it('stand behind one handle when they are the same, and never when they differ, whatever their calls are called', async () => {
    const same = resultText(7, 2_000)
    const outputs = [...[1, 2, 3].map((n) => resultText(n, 2_000)), same, same]
    const { session, deps } = testEngine({ policy })
    const messages = [
      { role: 'user', content: 'Read.' },
      ...outputs.flatMap((text, n) => step(n < 3 ? 'call_0' : `call_${n}`, text)),
      ...step('last', 'ok'),
    ]
    const turn = await prepareMessages(session(), messages, 2_500)
    const shown = resultsOf(turn.text).slice(0, outputs.length)
    const handles = shown.map((text) => handlesIn(text)[0]!)
    expect(new Set(handles).size).toBe(4)
    for (const [n, handle] of handles.entries())
      expect(Buffer.from((await deps.artifacts.read('local', handle))!).toString()).toBe(outputs[n])
  })
})
