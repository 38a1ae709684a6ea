import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import type { Policy } from '../../src/core/policy.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'
import { prepareMessages } from './support/loop.ts'

const policy: Policy = { ...policyNamed('plimsoll'), cascade: [{ step: 'collapse-duplicates', minTokens: 100 }] }
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
  it('are collapsed onto the last visible copy when they are the same, and never when they differ', async () => {
    const same = resultText(7, 2_000)
    const different = [1, 2, 3].map((n) => resultText(n, 2_000))
    const { session, deps } = testEngine({ policy })
    const agent = session()
    await agent.compact()
    const turn = await prepareMessages(
      agent,
      [
        { role: 'user', content: 'Read.' },
        ...different.flatMap((text) => step('call_0', text)),
        ...['a', 'b', 'c'].flatMap((id) => step(`same_${id}`, same)),
        ...step('last', 'ok'),
      ],
      5_000,
    )
    const shown = resultsOf(turn.text)
    expect(shown.slice(0, 3)).toEqual(different)
    expect(shown[5]).toBe(same)
    for (const stub of shown.slice(3, 5)) {
      expect(stub).toContain('same_c')
      const [handle] = handlesIn(stub)
      expect(Buffer.from((await deps.artifacts.read('local', handle!))!).toString()).toBe(same)
    }
  })
})
