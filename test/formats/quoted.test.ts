import { createHash } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CLAUDE_CODE, identityOf } from '../../src/core/identity.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { property } from '../support/property.ts'

const hash = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A body whose only text is what a tool gave, or a person said. */
const BODIES = {
  'anthropic-messages': {
    result: (text: string) => ({
      max_tokens: 9,
      messages: [
        { role: 'user', content: 'go' },
        { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'read', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: text }] },
      ],
    }),
    block: (text: string) => ({
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'text', text }] }],
    }),
  },
  'openai-chat': {
    result: (text: string) => ({
      messages: [
        { role: 'user', content: 'go' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'read', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c', content: text },
      ],
    }),
    block: (text: string) => ({ messages: [{ role: 'user', content: [{ type: 'text', text }] }] }),
  },
  'openai-responses': {
    result: (text: string) => ({
      input: [
        { type: 'function_call', call_id: 'c', name: 'read', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c', output: text },
      ],
    }),
    block: (text: string) => ({ input: [{ role: 'user', content: [{ type: 'input_text', text }] }] }),
  },
  gemini: { block: (text: string) => ({ contents: [{ role: 'user', parts: [{ text }] }] }) },
  'ollama-chat': { block: (text: string) => ({ messages: [{ role: 'user', content: text }] }) },
} as const

const CASES = Object.entries(BODIES).flatMap(([wire, bodies]) =>
  Object.entries(bodies).map(([name, body]) => ({ wire, name, body: body as (text: string) => object })),
)

/** Long enough that it is worth looking for. */
const long = (text: string): string => `${text}${' and so on'.repeat(40)}`

function readBack(wire: string, written: string) {
  const codec = codecOf(wire)
  const conversation = codec.decode(written)
  const item = conversation.items.at(-1)!
  return { item, quoted: codec.quoted(conversation, item) }
}

describe('the text of an item as its request writes it', () => {
  it.each(CASES)('is found on $wire, $name', ({ wire, body }) => {
    const text = long('14:02 "a" \\ b\n\tcost 3 €, \u001b[1m done')
    expect(readBack(wire, JSON.stringify({ model: 'm', ...body(text) })).quoted).toBe(JSON.stringify(text))
  })

  it.each(CASES)('makes the same item, whatever it says: $wire, $name', ({ wire, body }) => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.constantFrom(
        '\n',
        ' ',
        '\t',
        '\u00a0',
        '\ufeff',
        '\u2028',
        '\u000b',
        '\u007f',
        '"',
        '\\',
        '\u001b',
        '👩‍👧',
        'é',
      ),
    )
    const edge = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''))
    let found = 0
    property(
      fc.tuple(edge, edge),
      ([before, behind]) => {
        const text = `${before}${long('x')}${behind}`
        const { item, quoted } = readBack(wire, JSON.stringify({ model: 'm', ...body(text) }))
        if (quoted === undefined) return
        found++
        expect(quoted).toBe(JSON.stringify(item.text))
        expect(identityOf(item, hash, CLAUDE_CODE, () => quoted)).toBe(identityOf(item, hash, CLAUDE_CODE))
      },
      300,
    )
    expect(found).toBeGreaterThan(200)
  })

  /** Each says the same as JSON and is written in another way than `JSON.stringify` does. */
  it.each(['\\/', '\\u0041', '\\u000A', '\\u000a', '\\u001B', '\\ud83d\\ude00', '\\u00e9', '\\u2028'])(
    'is not taken where %s stands in it',
    (escape) => {
      const text = JSON.stringify(BODIES['openai-chat'].result(long('MARK'))).replace('MARK', escape)
      expect(readBack('openai-chat', text).quoted).toBeUndefined()
    },
  )

  it('is not taken from another member that says something else', () => {
    const { wire, body } = CASES[0]!
    const codec = codecOf(wire)
    const conversation = codec.decode(JSON.stringify({ model: 'm', ...body(long('one')) }))
    expect(codec.quoted(conversation, { ...conversation.items.at(-1)!, text: long('two') })).toBeUndefined()
  })

  it('is that of the member that counts where a key comes twice', () => {
    const [one, two] = [JSON.stringify(long('one')), JSON.stringify(long('two'))]
    const { quoted } = readBack(
      'ollama-chat',
      `{"model":"m","messages":[{"role":"user","content":${one},"content":${two}}]}`,
    )
    expect(quoted).toBe(two)
  })
})
