import { describe, expect, it } from 'vitest'
import { resultText } from '../support/anthropic-loop.ts'
import { prepareMessages } from './support/loop.ts'
import { fakeSummarizer, sound, summarisingEngine } from './support/summarizer.ts'

const data = (n: number): string => `${String(n).padStart(8, '0')}${'B'.repeat(4_000)}`
const messages = [
  { role: 'user', content: 'Look.' },
  ...Array.from({ length: 30 }, (_, n) => [
    { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${n}`, name: 'shot', input: {} }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: `toolu_${n}`,
          content: [
            { type: 'text', text: resultText(n, 600) },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: data(n) } },
          ],
        },
      ],
    },
  ]).flat(),
]

describe('H4: pictures in what is summarised', () => {
  it('never reach a text-only summarizer, and their bytes are in the archive', async () => {
    const fake = fakeSummarizer(sound)
    const { agent, deps } = summarisingEngine(fake)
    const turn = await prepareMessages(agent, messages, 5_000)
    expect(turn.report.newEpoch).toBeDefined()
    expect(fake.requests.length).toBeGreaterThan(0)
    for (const { prompt, system } of fake.requests) expect(`${system}${prompt}`).not.toContain('BBBBBBBB')
    const archived: string[] = []
    for await (const { record } of deps.sessions.read('local', 'test'))
      if (record.type === 'item-seen') archived.push(record.fragment)
    for (let n = 0; n < 30; n++)
      expect(
        archived.some((fragment) => fragment.includes(data(n))),
        `picture ${n}`,
      ).toBe(true)
    // And what stands for them is the same the next time.
    expect((await prepareMessages(agent, messages, 5_000)).text === turn.text).toBe(true)
  })
})
