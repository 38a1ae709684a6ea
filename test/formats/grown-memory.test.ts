import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import type { Conversation } from '../../src/core/conversation.ts'
import { codecOf } from '../../src/formats/registry.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const TURNS = 200
const long = 'a line of some length, '.repeat(2_500)

const BODIES = {
  'anthropic-messages': (says: readonly string[]) => ({
    model: 'm',
    max_tokens: 9,
    messages: says.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content })),
  }),
  'openai-chat': (says: readonly string[]) => ({
    model: 'm',
    messages: says.map((content) => ({ role: 'user', content })),
  }),
  'openai-responses': (says: readonly string[]) => ({
    model: 'm',
    input: says.map((content) => ({ role: 'user', content })),
  }),
  gemini: (says: readonly string[]) => ({ contents: says.map((text) => ({ role: 'user', parts: [{ text }] })) }),
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
    expect(conversation?.items).toHaveLength(says.length)
    // All of them would be 200 times 57 KB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan((TURNS * long.length) / 4)
  })
})
