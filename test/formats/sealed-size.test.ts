import { describe, expect, it } from 'vitest'
import { codecOf } from '../../src/formats/registry.ts'

const SEAL = 'c2VhbGVk'.repeat(100)

describe('the size of sealed content', () => {
  it('is read from the ciphertext, on both wires that carry one, and the ciphertext itself is not', () => {
    const responses = codecOf('openai-responses').decode(
      JSON.stringify({
        model: 'gpt-5',
        input: [
          { role: 'user', content: 'hi' },
          { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: SEAL },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'hello' }] },
        ],
      }),
    )
    expect(responses.items[1]).toMatchObject({ kind: 'reasoning', text: '', sealedCharacters: SEAL.length })
    const anthropic = codecOf('anthropic-messages').decode(
      JSON.stringify({
        model: 'claude-sonnet-4-5',
        max_tokens: 100,
        messages: [
          { role: 'user', content: 'hi' },
          {
            role: 'assistant',
            content: [
              { type: 'redacted_thinking', data: SEAL },
              { type: 'text', text: 'hello' },
            ],
          },
        ],
      }),
    )
    expect(anthropic.items[1]).toMatchObject({ kind: 'reasoning', text: '', sealedCharacters: SEAL.length })
  })
})
