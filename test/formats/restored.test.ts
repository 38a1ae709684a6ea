import { describe, expect, it } from 'vitest'
import { applyEdits, restore } from '../../src/core/edits.ts'
import { readMessages } from '../../src/formats/kit/editing.ts'
import { CODECS, type WireFormat } from '../../src/formats/registry.ts'

/** A history of which the client knows the first and the last messages; the step between them was hidden from it. */
interface Case {
  readonly wire: WireFormat
  readonly list: string
  readonly rest: object
  readonly first: readonly object[]
  readonly hidden: readonly object[]
  readonly last: readonly object[]
}

const fn = (id: string): object => ({ id, type: 'function', function: { name: 'recall', arguments: '{"query":"x"}' } })

const CASES: readonly Case[] = [
  {
    wire: 'anthropic-messages',
    list: 'messages',
    rest: { model: 'claude-opus-4-6', max_tokens: 10 },
    first: [{ role: 'user', content: 'Why?' }],
    hidden: [
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
          { type: 'text', text: 'Looking. ' },
          { type: 'tool_use', id: 'toolu_1', name: 'recall', input: { query: 'x' }, unknown: 1 },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'What was found.' }] },
    ],
    last: [
      { role: 'assistant', content: [{ type: 'text', text: 'Because.' }] },
      { role: 'user', content: 'Go on.' },
    ],
  },
  {
    wire: 'openai-chat',
    list: 'messages',
    rest: { model: 'gpt-4.1' },
    first: [{ role: 'user', content: 'Why?' }],
    hidden: [
      { role: 'assistant', content: 'Looking. ', tool_calls: [fn('call_1')] },
      { role: 'tool', tool_call_id: 'call_1', content: 'What was found.' },
    ],
    last: [
      { role: 'assistant', content: 'Because.' },
      { role: 'user', content: 'Go on.' },
    ],
  },
  {
    wire: 'openai-responses',
    list: 'input',
    rest: { model: 'gpt-5.2', store: false },
    first: [{ role: 'user', content: 'Why?' }],
    hidden: [
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'recall',
        arguments: '{"query":"x"}',
        status: 'completed',
      },
      { type: 'function_call_output', call_id: 'call_1', output: 'What was found.' },
    ],
    last: [
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Because.', annotations: [] }],
      },
      { role: 'user', content: 'Go on.' },
    ],
  },
  {
    wire: 'gemini',
    list: 'contents',
    rest: { generationConfig: { temperature: 0 } },
    first: [{ role: 'user', parts: [{ text: 'Why?' }] }],
    hidden: [
      {
        role: 'model',
        parts: [
          { text: 'Looking. ' },
          { functionCall: { id: 'c1', name: 'recall', args: { query: 'x' } }, thoughtSignature: 'c2ln' },
        ],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'c1', name: 'recall', response: { output: 'What was found.' } } }],
      },
    ],
    last: [
      { role: 'model', parts: [{ text: 'Because.' }] },
      { role: 'user', parts: [{ text: 'Go on.' }] },
    ],
  },
]

describe.each(CASES)('messages that $wire did not bring along', ({ wire, list, rest, first, hidden, last }) => {
  const codec = CODECS[wire]
  const whole = JSON.stringify({ ...rest, [list]: [...first, ...hidden, ...last] })
  const client = codec.decode(JSON.stringify({ ...rest, [list]: [...first, ...last] }))
  const items = readMessages(codec, list, hidden, 'h')
  const restored = restore(client, [{ items, instead: [], before: client.items[1]!.id }])

  it('are written as if they had come', () => {
    expect(codec.encode(restored)).toMatchObject({ text: whole, losses: [] })
    expect(codec.decode(whole).items.map(({ kind, text, callId }) => [kind, text, callId])).toEqual(
      restored.items.map(({ kind, text, callId }) => [kind, text, callId]),
    )
  })

  it('are written with what was edited and dropped in them since', () => {
    const original = codec.decode(whole)
    const edited = (conversation: typeof original) => {
      const result = conversation.items.find(({ kind }) => kind === 'result')!
      const text = conversation.items.find((item) => item.text === 'Looking. ')
      return applyEdits(conversation, [
        { op: 'replace', id: result.id, text: 'Less.', reason: 'test' },
        ...(text === undefined ? [] : [{ op: 'drop' as const, id: text.id, reason: 'test' }]),
      ])
    }
    expect(codec.encode(edited(restored)).text).toBe(codec.encode(edited(original)).text)
  })

  it('have the bytes that they were read from', () => {
    const original = codec.decode(whole)
    expect(restored.items.map((item) => codec.fragment(restored, item))).toEqual(
      original.items.map((item) => codec.fragment(original, item)),
    )
  })

  it('stand behind all others where nothing follows', () => {
    const start = codec.decode(JSON.stringify({ ...rest, [list]: first }))
    const grown = restore(start, [{ items, instead: [] }])
    expect(codec.encode(grown).text).toBe(JSON.stringify({ ...rest, [list]: [...first, ...hidden] }))
  })
})

it('a history that is one string becomes a list when something is put behind it', () => {
  const codec = CODECS['openai-responses']
  const { hidden } = CASES[2]!
  const start = codec.decode('{"model":"gpt-5.2","input":"Why?"}')
  const grown = restore(start, [{ items: readMessages(codec, 'input', hidden, 'h'), instead: [] }])
  expect(JSON.parse(codec.encode(grown).text)).toEqual({
    model: 'gpt-5.2',
    input: [{ role: 'user', content: 'Why?' }, ...hidden],
  })
})
