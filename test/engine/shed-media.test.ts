import { describe, expect, it } from 'vitest'
import { handlesIn } from '../../src/core/handles.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { plainMeter, testEngine } from '../support/engine.ts'

const MIB = 1_048_576
/** Pictures cost few tokens and many bytes, as they do at the vendors. */
const meterWith = (bytes: number): typeof plainMeter => ({
  ...plainMeter,
  limitOf: (...args) => ({ ...plainMeter.limitOf(...args), bytes }),
})

/** Distinct bytes for each picture, in base64 of the given length. */
const picture = (n: number, length: number): string => `${String(n).padStart(8, '0')}${'A'.repeat(length - 8)}`

/** An agent that takes one screenshot per step. */
function screenshots(count: number, length: number): { role: string; content: unknown }[] {
  const messages: { role: string; content: unknown }[] = [{ role: 'user', content: 'Click through the shop.' }]
  for (let n = 1; n <= count; n++) {
    messages.push(
      { role: 'assistant', content: [{ type: 'tool_use', id: `toolu_${n}`, name: 'screenshot', input: {} }] },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: `toolu_${n}`,
            content: [
              { type: 'text', text: `page ${n}` },
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: picture(n, length) } },
            ],
          },
        ],
      },
    )
  }
  return messages
}

const bodyOf = (count: number, length: number) => ({
  model: 'claude-sonnet-4-5',
  max_tokens: 512,
  tools: [{ name: 'screenshot', input_schema: { type: 'object' } }],
  messages: screenshots(count, length),
})
const request = (body: object) => ({
  format: 'anthropic-messages',
  body,
  targets: [{ model: 'claude-sonnet-4-5', window: 200_000 }],
})

describe('a body over the byte limit', () => {
  it('fits again after 42 screenshots, the oldest behind handles that give the same bytes', async () => {
    const { session, deps, events } = testEngine({ meter: meterWith(MIB) })
    const length = 27_000
    const turn = await session().prepare(request(bodyOf(42, length)))
    expect(Buffer.byteLength(turn.text)).toBeLessThanOrEqual(MIB)
    expect(codecOf('anthropic-messages').check(JSON.parse(turn.text))).toEqual([])
    const kept = Array.from({ length: 42 }, (_, i) => i + 1).filter((n) => turn.text.includes(picture(n, length)))
    expect(kept.length).toBeGreaterThan(15)
    expect(kept).toEqual(Array.from({ length: kept.length }, (_, i) => 43 - kept.length + i))
    const handles = handlesIn(turn.text)
    expect(handles).toHaveLength(42 - kept.length)
    for (const [i, handle] of handles.entries()) {
      const bytes = await deps.artifacts.read('local', handle)
      expect(Buffer.from(bytes!).equals(Buffer.from(picture(i + 1, length), 'base64'))).toBe(true)
      expect((await deps.artifacts.stat('local', handle))?.mime).toBe('image/png')
    }
    // Words stay: only pictures were too large.
    for (let n = 1; n <= 42; n++) expect(turn.text).toContain(`page ${n}`)
    expect(events.filter((event) => event.type === 'epoch-declared')).toHaveLength(1)
  })

  it('leaves room for more pictures before it takes out the next', async () => {
    const { session, events } = testEngine({ meter: meterWith(MIB) })
    const agent = session()
    for (let count = 36; count <= 56; count += 2) {
      const turn = await agent.prepare(request(bodyOf(count, 27_000)))
      expect(Buffer.byteLength(turn.text)).toBeLessThanOrEqual(MIB)
      expect(turn.text.includes(picture(count, 27_000))).toBe(true)
    }
    expect(events.filter((event) => event.type === 'epoch-declared').length).toBeLessThanOrEqual(3)
  })

  it('takes the newest picture too when it does not fit alone', async () => {
    const { session } = testEngine({ meter: meterWith(100_000) })
    const turn = await session().prepare(request(bodyOf(1, 200_000)))
    expect(Buffer.byteLength(turn.text)).toBeLessThanOrEqual(100_000)
    expect(handlesIn(turn.text)).toHaveLength(1)
  })

  it('shortens text where text is what is too large', async () => {
    const { session } = testEngine({ meter: meterWith(60_000) })
    const messages: { role: string; content: string }[] = []
    for (let n = 0; n < 40; n++) {
      messages.push({ role: 'user', content: `question ${n} ${'word '.repeat(300)}` })
      messages.push({ role: 'assistant', content: `answer ${n} ${'term '.repeat(300)}` })
    }
    messages.push({ role: 'user', content: 'And now?' })
    const body = { model: 'claude-sonnet-4-5', max_tokens: 512, messages }
    const turn = await session().prepare(request(body))
    expect(Buffer.byteLength(turn.text)).toBeLessThanOrEqual(60_000)
    expect(turn.text).toContain('And now?')
    expect(turn.text).toContain('question 0')
  })
})

describe.each([
  [
    'openai-chat',
    (data: string) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }),
    (text: string) => ({ type: 'text', text }),
  ],
  [
    'openai-responses',
    (data: string) => ({ type: 'input_image', image_url: `data:image/png;base64,${data}` }),
    (text: string) => ({ type: 'input_text', text }),
  ],
  ['gemini', (data: string) => ({ inlineData: { mimeType: 'image/png', data } }), (text: string) => ({ text })],
] as const)('on %s', (format, image, words) => {
  it('takes pictures out of user messages and stays valid', async () => {
    const { session } = testEngine({ meter: meterWith(100_000) })
    const turns = Array.from({ length: 6 }, (_, n) => [
      { role: 'user', content: [words(`look ${n}`), image(picture(n, 30_000))] },
      { role: 'assistant', content: `seen ${n}` },
    ]).flat()
    const messages = [...turns, { role: 'user', content: [words('And now?')] }]
    const body =
      format === 'gemini'
        ? {
            contents: messages.map(({ role, content }) => ({
              role: role === 'user' ? 'user' : 'model',
              parts: typeof content === 'string' ? [{ text: content }] : content,
            })),
          }
        : format === 'openai-chat'
          ? { model: 'gpt-5', messages }
          : { model: 'gpt-5', input: messages }
    const turn = await session().prepare({ format, body, targets: [{ model: 'gpt-5', window: 100_000 }] })
    expect(Buffer.byteLength(turn.text)).toBeLessThanOrEqual(100_000)
    expect(codecOf(format).check(JSON.parse(turn.text))).toEqual([])
    expect(turn.text.includes(picture(5, 30_000))).toBe(true)
    expect(turn.text.includes(picture(1, 30_000))).toBe(false)
    expect(handlesIn(turn.text).length).toBeGreaterThan(2)
  })
})
