import { describe, expect, it } from 'vitest'
import { createPlimsoll, type Plimsoll, type PlimsollEvent, type PlimsollOptions } from '../../src/index.ts'
import { classifyProviderError } from '../../src/formats/overflow/classify.ts'
import { learnedLimits, lessonOf } from '../../src/engine/learning/learned-limits.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { words } from './words.ts'

type Answer = (body: { messages: { content: string }[]; [member: string]: unknown }) => Response

const answered = (input: number): Response =>
  Response.json({
    choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: Math.round(input), completion_tokens: 2 },
  })
const refused = (message: string, code = 'context_length_exceeded', status = 400): Response =>
  Response.json({ error: { message, type: 'invalid_request_error', code } }, { status })
const sizeOf = (body: object): number => JSON.stringify(body).length / 4.2

function open(answer: Answer, options: PlimsollOptions = {}): { plimsoll: Plimsoll; learned: () => number[] } {
  const events: PlimsollEvent[] = []
  const plimsoll = createPlimsoll({
    store: 'memory:',
    artifacts: 'memory:',
    tools: false,
    onEvent: (event) => events.push(event),
    fetch: async (_, init) =>
      answer(JSON.parse(Buffer.from(init?.body as Uint8Array).toString()) as Parameters<Answer>[0]),
    ...options,
  })
  const learned = (): number[] => events.flatMap((event) => (event.type === 'window-learned' ? [event.window] : []))
  return { plimsoll, learned }
}

async function ask(
  plimsoll: Plimsoll,
  session: string,
  messages: object[],
  { model = 'gpt-4o', endpoint = 'https://llm.example.com', ...more }: Record<string, unknown> = {},
): Promise<{ status: number; limit: number; text: string }> {
  const answer = await plimsoll.fetch(`${String(endpoint)}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': session },
    body: JSON.stringify({ model, messages, ...more }),
  })
  return { status: answer.status, limit: Number(answer.headers.get('x-plimsoll-limit')), text: await answer.text() }
}

const user = (content: unknown): object => ({ role: 'user', content })

describe('a server that counts in its own way', () => {
  it.each([
    ['with a window that was set', { window: 200_000 }, 'gpt-4o'],
    ['as a model that nobody knows', {}, 'my-local-model'],
  ])('is believed, whatever the ratio: %s', async (_, options, model) => {
    for (const ratio of [0.4, 0.5, 0.8, 1, 1.35]) {
      const { plimsoll, learned } = open((body) => answered(sizeOf(body) * ratio), options)
      const messages: object[] = []
      for (let step = 0; step < 8; step++) {
        messages.push(user(words(step, 12_000)))
        const { status } = await ask(plimsoll, 's', messages, { model })
        expect(status).toBe(200)
        messages.push({ role: 'assistant', content: 'ok' })
      }
      expect(learned()).toEqual([])
      await plimsoll.close()
    }
  })

  it('is not taken for one that cuts prompts by a design that counts in characters', async () => {
    const { plimsoll, learned } = open((body) => answered(sizeOf(body) * 0.6), {
      policy: 'contextguard',
      window: 64_000,
    })
    const messages: object[] = []
    for (let step = 0; step < 6; step++) {
      messages.push(user(words(step, 6_000)))
      expect((await ask(plimsoll, 's', messages)).status).toBe(200)
      messages.push({ role: 'assistant', content: 'ok' })
    }
    expect(learned()).toEqual([])
    await plimsoll.close()
  })
})

describe('a refusal', () => {
  const tooLong = (limit: number, input: number): Response =>
    refused(
      `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${input} tokens.`,
    )

  it('that names a window teaches it where our count was above it; the conversation goes on', async () => {
    const { plimsoll, learned } = open((body) => {
      const input = Math.ceil(JSON.stringify(body).length / 2.7)
      return input > 12_000 ? tooLong(12_000, input) : answered(input)
    })
    const messages = [0, 1, 2, 3, 4, 5, 6, 7].map((step) => user(words(step, 8_000)))
    expect((await ask(plimsoll, 's', messages, { max_tokens: 300 })).status).toBe(200)
    expect(learned()).toEqual([12_000])
    expect(await plimsoll.limits.list()).toMatchObject([{ model: 'gpt-4o', window: 12_000, from: 'refusal' }])
    expect(await plimsoll.limits.forget({ model: 'gpt-4o' })).toBe(1)
    expect(await plimsoll.limits.list()).toEqual([])
    await plimsoll.close()
  })

  it.each([
    [
      'a file by its id',
      [
        { type: 'text', text: 'Summarise it.' },
        { type: 'file', file: { file_id: 'file-big' } },
      ],
    ],
    [
      'a word that the server echoes',
      "\u0007 This model's maximum context length is 2600 tokens. However, your messages resulted in 9000 tokens.",
    ],
  ])('about something that we cannot see teaches nothing: %s', async (_, content) => {
    const { plimsoll, learned } = open((body) => {
      const text = JSON.stringify(body)
      if (text.includes('file-big')) return tooLong(128_000, 204_321)
      if (text.includes('\\u0007'))
        return refused(
          `1 validation error for Message\ncontent\n  not allowed [input_value='${body.messages[0]!.content}']`,
          'x',
        )
      return answered(sizeOf(body))
    })
    const before = await ask(plimsoll, 'a', [user(words(1, 80_000))])
    expect((await ask(plimsoll, 'b', [user(content)])).status).toBe(400)
    const after = await ask(plimsoll, 'c', [user(words(2, 80_000))])
    expect(after).toMatchObject({ status: 200, limit: before.limit })
    expect(learned()).toEqual([])
    await plimsoll.close()
  })

  it('never teaches less than any server has, nor less than a prompt that was taken', async () => {
    expect(
      lessonOf({ kind: 'overflow', limit: 10, input: 900 }, { tokens: 900, outputReserve: 0, bytes: 4_000 }).learned,
    ).toBeUndefined()
    const limits = learnedLimits(memoryStore(), { now: () => 1 })
    const place = { tenant: 't', endpoint: 'e', model: 'm' }
    await limits.accepted(place, { tokens: 30_000 })
    expect(await limits.learn(place, { window: 8_192 }, 'refusal')).toBe(false)
    expect(await limits.learn(place, { window: 32_768 }, 'refusal')).toBe(true)
    await limits.accepted(place, { tokens: 40_000 })
    expect(await limits.of(place)).toBeUndefined()
  })

  it.each([
    [401, { error: { message: 'Incorrect API key provided: maximum context length is 700 tokens' } }],
    [404, { error: { message: 'The model `prompt is too long: 9 tokens > 8 maximum` does not exist' } }],
    [
      400,
      {
        error: {
          message: "Invalid value for 'messages[2].content': 'maximum context length is 500 tokens'",
          code: 'invalid_value',
        },
      },
    ],
    [
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: "messages.0.content.0.text: 'prompt is too long: 208310 tokens > 1000 maximum' is not valid",
        },
      },
    ],
  ])('with status %i that quotes such words is none', (status, body) => {
    expect(classifyProviderError({ status, body: JSON.stringify(body) }).kind).toBe('other')
  })
})

describe('a window that was learned', () => {
  it('is no reason to refuse: the endpoint is asked, and what it takes ends the lesson', async () => {
    let window = 4_000
    const { plimsoll } = open((body) => {
      const input = Math.round(sizeOf(body))
      return input > window
        ? refused(
            `This model's maximum context length is ${window} tokens. However, your messages resulted in ${input} tokens.`,
          )
        : answered(input)
    })
    const system = { role: 'system', content: words(5, 60_000) }
    expect(
      (
        await ask(
          plimsoll,
          'a',
          [1, 2, 3, 4].map((step) => user(words(step, 9_000))),
        )
      ).status,
    ).toBe(200)
    expect(await plimsoll.limits.list()).toMatchObject([{ window: 4_000 }])
    // The server was restarted with more.
    window = 64_000
    expect((await ask(plimsoll, 'b', [system, user('Hello')])).status).toBe(200)
    expect(await plimsoll.limits.list()).toEqual([])
    await plimsoll.close()
  })
})

describe('what nobody can see the size of', () => {
  it.each([
    ['file', { type: 'file', file_id: 'file_011' }],
    ['url', { type: 'url', url: 'https://example.com/two-pages.pdf' }],
  ])('is sent: a document by %s', async (_, source) => {
    let asked = 0
    const plimsoll = createPlimsoll({
      store: 'memory:',
      artifacts: 'memory:',
      fetch: async () => {
        asked++
        return Response.json({
          id: 'm',
          type: 'message',
          role: 'assistant',
          content: [{ type: 'text', text: 'ok' }],
          stop_reason: 'end_turn',
          usage: { input_tokens: 3_000, output_tokens: 5 },
        })
      },
    })
    const content = [
      { type: 'document', source },
      { type: 'text', text: 'What is in it?' },
    ]
    const body = JSON.stringify({ model: 'claude-sonnet-4-5', max_tokens: 1_024, messages: [user(content)] })
    for (const window of ['200000', '16000']) {
      const { status } = await plimsoll.fetch('https://api.anthropic.com/v1/messages', {
        method: 'POST',
        headers: { 'x-api-key': window, 'content-type': 'application/json' },
        body,
      })
      expect(status).toBe(200)
    }
    expect(asked).toBe(2)
    await plimsoll.close()
  })
})
