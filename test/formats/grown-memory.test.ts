import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import { codecOf } from '../../src/formats/registry.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const TURNS = 200
const long = 'a line of some length, '.repeat(2_500)

/** Each step has what a codec keeps as text of the body: a call's input, and a block that only the vendor knows. */
const BODIES = {
  'anthropic-messages': (steps: readonly string[]) => ({
    model: 'm',
    max_tokens: 9,
    messages: steps.flatMap((text, i) => [
      { role: 'user', content: [{ type: 'text', text }] },
      {
        role: 'assistant',
        content: [
          { type: 'new_block', about: text.slice(0, 40) },
          { type: 'tool_use', id: `t${i}`, name: 'read', input: { path: `src/file-${i}.ts`, from: i } },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${i}`, content: `line ${i}` }] },
    ]),
  }),
  'openai-chat': (steps: readonly string[]) => ({
    model: 'm',
    messages: steps.flatMap((text, i) => [
      {
        role: 'user',
        content: [
          { type: 'text', text },
          { type: 'new_part', about: text.slice(0, 40) },
        ],
      },
      {
        role: 'assistant',
        content: null,
        // Some servers write the arguments as an object.
        tool_calls: [
          { id: `c${i}`, type: 'function', function: { name: 'read', arguments: { path: `file-${i}.ts` } } },
        ],
      },
      { role: 'tool', tool_call_id: `c${i}`, content: `line ${i}` },
    ]),
  }),
  'openai-responses': (steps: readonly string[]) => ({
    model: 'm',
    input: steps.flatMap((text, i) => [
      { role: 'user', content: text },
      { type: 'new_item', about: text.slice(0, 40) },
      { type: 'function_call', call_id: `c${i}`, name: 'read', arguments: `{"path":"file-${i}.ts"}` },
      { type: 'function_call_output', call_id: `c${i}`, output: `line ${i}` },
    ]),
  }),
  gemini: (steps: readonly string[]) => ({
    contents: steps.flatMap((text, i) => [
      { role: 'user', parts: [{ text }, { newPart: text.slice(0, 40) }] },
      { role: 'model', parts: [{ functionCall: { name: 'read', args: { path: `src/file-${i}.ts` } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'read', response: { rows: [i, `line ${i}`] } } }] },
    ]),
  }),
} as const

describe('a body that grew', () => {
  it.each(Object.keys(BODIES) as (keyof typeof BODIES)[])('lets the bodies before it go: %s', (wire) => {
    const codec = codecOf(wire)
    const says = [long]
    let conversation: Conversation | undefined
    const turn = (): void => {
      says.push(`question ${says.length}`)
      // Through bytes, as a body comes in: a text of its own, no piece of another.
      const text = Buffer.from(JSON.stringify(BODIES[wire](says))).toString('latin1')
      conversation = codec.decode(text, conversation)
    }
    for (let i = 0; i < 10; i++) turn()
    collect()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < TURNS; i++) turn()
    collect()
    expect(conversation!.items.length).toBeGreaterThanOrEqual(says.length * 3)
    // All of them would be 200 times 57 KB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((TURNS * long.length) / 4)
  })
})
