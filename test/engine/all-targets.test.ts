import { describe, expect, it } from 'vitest'
import { createPlimsoll, type PlimsollEvent } from '../../src/index.ts'
import { words } from '../learning/words.ts'

const small = { model: 'gpt-4o', window: 8_000, maxOutputTokens: 500 }
const large = { model: 'gpt-4.1', window: 100_000, maxOutputTokens: 500 }
const tools = ['look', 'agent__final_report'].map((name) => ({ type: 'function', function: { name, parameters: {} } }))

function history(steps: number): object[] {
  const messages: object[] = [{ role: 'user', content: 'task' }]
  for (let step = 0; step < steps; step++) {
    const id = `c${step}`
    const call = { id, type: 'function', function: { name: 'look', arguments: `{"step":${step}}` } }
    messages.push(
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: id, content: words(step + 1, 6_000) },
    )
  }
  return messages
}

describe.each(['ai-agent', 'plimsoll', 'contextguard'])('several targets under %s', (policy) => {
  it('are all asked: the one that does not fit is skipped, and the next one gets the request as it is', async () => {
    const events: PlimsollEvent[] = []
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', policy, onEvent: (e) => events.push(e) })
    const body = { model: 'gpt-4o', messages: history(12), tools, max_tokens: 500 }
    for (const targets of [
      [small, large],
      [large, small],
    ]) {
      const session = plimsoll.session({ id: targets[0]!.model })
      const turn = await session.prepare({ format: 'openai-chat', body, targets })
      expect(turn.verdict).toMatchObject({ kind: 'proceed', target: { model: 'gpt-4.1' } })
      expect(turn.report.untouched).toBe(true)
    }
    const skips = events.flatMap((event) =>
      event.type === 'verdict-given' && event.verdict.kind === 'skip' ? [event.verdict.target.model] : [],
    )
    expect(skips).toEqual(['gpt-4o'])
    await plimsoll.close()
  })
})

describe('a closing turn', () => {
  it('is given only when all are blocked, and holds for no target that has more room', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', policy: 'ai-agent' })
    const session = plimsoll.session({ id: 'a' })
    const body = { model: 'gpt-4o', messages: history(12), tools, max_tokens: 500 }
    const prepare = (targets: (typeof small)[]) => session.prepare({ format: 'openai-chat', body, targets })
    expect((await prepare([small])).verdict.kind).toBe('final')
    expect((await prepare([small])).verdict.kind).toBe('final')
    expect((await prepare([small, large])).verdict).toMatchObject({ kind: 'proceed', target: { model: 'gpt-4.1' } })
    await plimsoll.close()
  })
})
