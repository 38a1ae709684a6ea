import { deflateSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { createPlimsoll } from '../../src/index.ts'
import { words } from './words.ts'

/** A PDF whose page tree stands in a packed object stream, as most writers make them. */
function packedPdf(pages: number, kilobytes: number): string {
  const tree = deflateSync(Buffer.from(`1 0 2 60 << /Type /Pages /Count ${pages} /Kids [] >> << /Type /Catalog >>`))
  const head = Buffer.from('%PDF-1.7\n1 0 obj\n<< /Type /ObjStm /N 2 /First 10 /Filter /FlateDecode >>\nstream\n')
  const body = Buffer.alloc(kilobytes * 1024, 'x')
  return Buffer.concat([head, tree, Buffer.from('\nendstream\nendobj\n'), body]).toString('base64')
}

const anthropic = (source: object): object => ({
  max_tokens: 4_000,
  messages: [
    {
      role: 'user',
      content: [
        { type: 'document', source },
        { type: 'text', text: 'Summarise it.' },
      ],
    },
  ],
})
const responses = (file: object): object => ({
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_file', ...file },
        { type: 'input_text', text: 'Summarise it.' },
      ],
    },
  ],
})
const gemini = (fileData: object): object => ({
  contents: [{ role: 'user', parts: [{ fileData }, { text: 'Sum up' }] }],
})

describe('a document alone in the first message', () => {
  it.each<[string, string, string, object]>([
    [
      'packed, 20 pages',
      'anthropic-messages',
      'claude-sonnet-4-5',
      anthropic({ type: 'base64', media_type: 'application/pdf', data: packedPdf(20, 60) }),
    ],
    [
      'packed, 60 pages',
      'anthropic-messages',
      'claude-haiku-4-5',
      anthropic({ type: 'base64', media_type: 'application/pdf', data: packedPdf(60, 160) }),
    ],
    ['by URL', 'anthropic-messages', 'claude-sonnet-4-5', anthropic({ type: 'url', url: 'https://example.com/a.pdf' })],
    ['by id', 'anthropic-messages', 'claude-sonnet-4-5', anthropic({ type: 'file', file_id: 'file_011' })],
    [
      'packed, 60 pages',
      'openai-responses',
      'gpt-4o',
      responses({ filename: 'c.pdf', file_data: `data:application/pdf;base64,${packedPdf(60, 160)}` }),
    ],
    ['by id', 'openai-responses', 'gpt-5', responses({ file_id: 'file-abc' })],
    ['by URL', 'openai-responses', 'gpt-4.1', responses({ file_url: 'https://example.com/a.pdf' })],
    [
      'by URI',
      'gemini',
      'gemini-2.5-pro',
      gemini({ mimeType: 'application/pdf', fileUri: 'https://example.com/files/abc' }),
    ],
    [
      'a video',
      'gemini',
      'gemini-2.5-pro',
      gemini({ mimeType: 'video/mp4', fileUri: 'https://example.com/files/vid' }),
    ],
  ])('%s leaves as it came on %s to %s', async (_, format, model, body) => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', tools: false })
    const text = JSON.stringify({ model, ...body })
    const turn = await plimsoll.session({ id: 'x' }).prepare({ format, body: text, targets: [{ model }] })
    expect(turn.verdict.kind).toBe('proceed')
    expect(turn.text).toBe(text)
    await plimsoll.close()
  })
})

describe('a server that counts pictures many times higher than their rule', () => {
  it.each([1_337, 4_000])('is followed, and the session goes on: %i tokens for each', async (perPicture) => {
    const window = 16_000
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
    type Part = { readonly type: string; readonly text?: string }
    type Message = { readonly role: string; readonly content: string | readonly Part[] }
    const tokensOf = ({ content }: Message): number =>
      typeof content === 'string'
        ? content.length / 4
        : content.reduce((sum, { text }) => sum + (text === undefined ? perPicture : text.length / 4), 0)
    const refused: number[] = []
    const plimsoll = createPlimsoll({
      store: 'memory:',
      artifacts: 'memory:',
      tools: false,
      window,
      fetch: async (_, init) => {
        const { messages } = JSON.parse(Buffer.from(init?.body as Uint8Array).toString()) as { messages: Message[] }
        const input = Math.round(messages.reduce((sum, message) => sum + 4 + tokensOf(message), 3))
        if (input + 1_000 <= window)
          return Response.json({
            choices: [{ index: 0, message: { role: 'assistant', content: words(input, 150) }, finish_reason: 'stop' }],
            usage: { prompt_tokens: input, completion_tokens: 30, total_tokens: input + 30 },
          })
        refused.push(input)
        const message = `This model's maximum context length is ${window} tokens. However, you requested ${input + 1_000} tokens (${input} in the messages, 1000 in the completion).`
        return Response.json(
          { error: { message, type: 'invalid_request_error', code: 'context_length_exceeded' } },
          { status: 400 },
        )
      },
    })
    const messages: Message[] = [{ role: 'user', content: 'Book a flight to Oslo.' }]
    for (let i = 0; i < 30; i++) {
      const answer = await plimsoll.fetch('https://llm.example.com/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer k' },
        body: JSON.stringify({ model: 'qwen-vl-max', max_tokens: 1_000, messages }),
      })
      expect(answer.status, `picture ${i}`).toBe(200)
      const { choices } = (await answer.json()) as { choices: { message: Message }[] }
      const shot = { type: 'image_url', image_url: { url: `data:image/png;base64,${pixel}`, detail: 'low' } }
      messages.push(choices[0]!.message, { role: 'user', content: [{ type: 'text', text: `Screenshot ${i}` }, shot] })
    }
    // One refusal teaches what a picture takes; recovering from it is one more request.
    expect(refused.length).toBeLessThanOrEqual(1)
    await plimsoll.close()
  })
})

describe('declared tools near the window', () => {
  const tool = (i: number): object => ({
    name: `mcp__server__tool_${i}`,
    description: words(i, 500),
    input_schema: {
      type: 'object',
      properties: Object.fromEntries(
        Array.from({ length: 6 }, (_, k) => [`param_${k}`, { type: 'string', description: words(i * 7 + k, 60) }]),
      ),
      required: ['param_0'],
    },
  })

  it('are refused only when the least that they may be is above the limit', async () => {
    const plimsoll = createPlimsoll({ store: 'memory:', artifacts: 'memory:', tools: false })
    const outcomes: { low: number; isTaken: boolean; limit: number }[] = []
    for (let count = 300; count <= 800; count += 50) {
      const tools = Array.from({ length: count }, (_, i) => tool(i))
      const body = { model: 'claude-sonnet-4-5', max_tokens: 8_000, messages: [{ role: 'user', content: 'hi' }], tools }
      const load = await plimsoll
        .session({ id: `tools-${count}` })
        .prepare({ format: 'anthropic-messages', body: JSON.stringify(body), targets: [{ model: body.model }] })
        .then(
          ({ load: taken, limit }) => ({ low: taken.count.low, isTaken: true, limit: limit.tokens }),
          ({ fields }: { fields: { least: number; limit: number } }) => ({
            low: fields.least,
            isTaken: false,
            limit: fields.limit,
          }),
        )
      outcomes.push(load)
    }
    for (const { low, isTaken, limit } of outcomes) expect(isTaken, `${low} of ${limit}`).toBe(low <= limit)
    expect(new Set(outcomes.map(({ isTaken }) => isTaken))).toEqual(new Set([true, false]))
    await plimsoll.close()
  })
})
