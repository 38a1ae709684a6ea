import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'
import { WIRES } from '../support/generators/index.ts'

const call = (id: string) => ({ id, type: 'function', function: { name: 'run', arguments: '{}' } })

/** What interrupted runs leave behind: no text, no words, no output, and a turn that says nothing at all. */
const body = {
  model: 'gpt-4.1',
  messages: [
    { role: 'user', content: 'Go.' },
    { role: 'assistant', content: '', tool_calls: [call('call_1')] },
    { role: 'tool', tool_call_id: 'call_1', content: '' },
    { role: 'assistant', content: '' },
    { role: 'user', content: ' \n ' },
    { role: 'assistant', content: [{ type: 'text', text: '' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: '' },
        { type: 'text', text: 'Still there?' },
      ],
    },
    { role: 'assistant', content: '', tool_calls: [call('call_2')] },
    { role: 'tool', tool_call_id: 'call_2', content: 'ok' },
  ],
}

describe('A16: empty text and empty turns', () => {
  it.each(WIRES)('pass the rules of %s and are the same bytes in three sends', (wire) => {
    const codec = codecOf(wire)
    const sends = [1, 2, 3].map(() => codec.encode(codecOf('openai-chat').decode(JSON.stringify(body))).text)
    expect(codec.check(JSON.parse(sends[0]!))).toEqual([])
    expect(new Set(sends).size).toBe(1)
    const { items } = codec.decode(sends[0]!)
    expect(items.filter((item) => item.kind === 'call')).toHaveLength(2)
    expect(items.some((item) => item.text.includes('Still there?'))).toBe(true)
  })
})
