import { expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'

const BODIES = [
  [
    'openai-chat',
    {
      model: 'gpt-4o',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Summarise.' },
            { type: 'file', file: { file_id: 'file-x' } },
          ],
        },
      ],
    },
  ],
  [
    'openai-responses',
    {
      model: 'gpt-4o',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Summarise.' },
            { type: 'input_file', file_id: 'file-x' },
          ],
        },
      ],
    },
  ],
  [
    'anthropic-messages',
    {
      model: 'claude-sonnet-4-5',
      max_tokens: 1_000,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Summarise.' },
            { type: 'document', source: { type: 'file', file_id: 'file_x' } },
          ],
        },
      ],
    },
  ],
  [
    'gemini',
    {
      model: 'gemini-2.5-pro',
      contents: [
        {
          role: 'user',
          parts: [{ text: 'Summarise.' }, { fileData: { mimeType: 'application/pdf', fileUri: 'https://files/x' } }],
        },
      ],
    },
  ],
] as const

it.each(BODIES)('%s: a file of unknown size is sent as it is, and counted as unknown', async (format, body) => {
  const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', secret: Buffer.alloc(32, 1) })
  try {
    const session = plimsoll.session({ id: 'files' })
    const turn = await session.prepare({ format, body, targets: [{ model: 'm', window: 16_000 }] })
    expect(turn.text).toBe(JSON.stringify(body))
    expect(turn.verdict.kind).toBe('proceed')
    // What it may come to is more than fits; only what it surely takes could be a reason to refuse.
    const { low, unsure = 0, source } = turn.load.count
    expect(source).toBe('unknown')
    expect(low).toBeLessThan(turn.limit.tokens)
    expect(low + unsure).toBeGreaterThan(turn.limit.tokens)
  } finally {
    await plimsoll.close()
  }
})
