import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'
import { createPlimsoll } from '../../src/index.ts'

const FORMAT = 'anthropic-messages'
const MODEL = 'claude-sonnet-4-5'
const REMINDER = '<system-reminder>Warning: the file exists but is shorter than the offset.</system-reminder>'

/** Claude Code answers a read beyond the end of a file with nothing but a reminder, which no identity is made of. */
function history(steps: number): object[] {
  const messages: object[] = [{ role: 'user', content: 'Read all of it.' }]
  for (let step = 0; step < steps; step++) {
    const id = `toolu_${step}`
    const text = step % 2 === 0 ? REMINDER : `line of ${step}, as it stands in the file\n`.repeat(60)
    messages.push(
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: `The next one is ${step}.`, signature: 'c2lnbmVk' },
          { type: 'tool_use', id, name: 'Read', input: { file_path: `/src/${step}.ts` } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text }] },
    )
  }
  return messages
}

describe('a result that holds nothing but a reminder', () => {
  it('leaves with its call, wherever the history is cut', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', secret: new Uint8Array(32).fill(5) })
    const session = plimsoll.session({ id: 'reminders' })
    let epochs = 0
    for (let steps = 1; steps <= 60; steps++) {
      const body = { model: MODEL, max_tokens: 500, messages: history(steps) }
      const turn = await session.prepare({ format: FORMAT, body, targets: [{ model: MODEL, window: 9_000 }] })
      expect(codecOf(FORMAT).check(JSON.parse(turn.text))).toEqual([])
      if (turn.report.newEpoch !== undefined) epochs++
    }
    expect(epochs).toBeGreaterThan(2)
    await plimsoll.close()
  })
})
