import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { testEngine } from '../support/engine.ts'

const says = ['. ', '.\n\n', '.', '. ']
const body = JSON.stringify({
  model: 'm',
  messages: [
    ...says.flatMap((content, i) => [
      { role: 'user', content: `Question ${i}` },
      { role: 'assistant', content },
    ]),
    { role: 'user', content: 'Go on.' },
  ],
})

describe('texts that differ in the white space around them', () => {
  it('are archived each with its own bytes, and each once, in any process', async () => {
    const sessions = memoryStore()
    for (let process = 0; process < 2; process++) {
      const session = testEngine({ sessions }).session()
      for (let turn = 0; turn < 2; turn++) await session.prepare({ format: 'openai-chat', body })
    }
    const fragments: string[] = []
    for await (const { record } of sessions.read('local', 'test'))
      if (record.type === 'item-seen' && record.role === 'assistant') fragments.push(record.fragment)
    expect(fragments).toEqual(['". "', '".\\n\\n"', '"."'])
  })
})
