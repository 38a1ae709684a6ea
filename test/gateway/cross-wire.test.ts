import type { SdkWire as Wire } from '../support/sdk-wires.ts'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI, type Content, type GenerateContentResponse } from '@google/genai'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { PlimsollOptions } from '../../src/index.ts'
import {
  call,
  calls,
  say,
  startReferee,
  type RunningReferee,
  type StartRefereeOptions,
} from '../../src/testing/referee/index.ts'
import { toolOutput } from '../sdks/ways.ts'
import { closeLater, plainUpstream, post, testProxy, type TestProxy } from './upstream.ts'

const PREFIX: Readonly<Record<Wire, string>> = {
  'anthropic-messages': 'anthropic',
  'openai-chat': 'openai',
  'openai-responses': 'openai',
  gemini: 'gemini',
}
const MODEL: Readonly<Record<Wire, string>> = {
  'anthropic-messages': 'claude-opus-4-6',
  'openai-chat': 'gpt-4.1',
  'openai-responses': 'gpt-5.2',
  gemini: 'gemini-2.5-pro',
}
const CREDENTIAL: Readonly<Record<Wire, Readonly<Record<string, string>>>> = {
  'anthropic-messages': { 'x-api-key': 'their-key' },
  'openai-chat': { authorization: 'Bearer their-key' },
  'openai-responses': { authorization: 'Bearer their-key' },
  gemini: { 'x-goog-api-key': 'their-key' },
}

type Say = { readonly text: string; readonly calls: readonly { id: string; name: string; input: unknown }[] }

/** One agent's loop: each answer of the model, and then the results of its calls; with the vendor's own SDK. */
type Agent = (base: string, stream: boolean, result: (step: number) => string) => Promise<readonly Say[]>

const AGENTS: Readonly<Record<Wire, Agent>> = {
  async 'anthropic-messages'(base, stream, result) {
    const client = new Anthropic({ apiKey: 'client-key', baseURL: base, maxRetries: 0 })
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: 'Why is checkout slow?' }]
    const said: Say[] = []
    for (;;) {
      const request: Anthropic.MessageCreateParamsNonStreaming = {
        model: 'claude-sonnet-4-5-20250929',
        max_tokens: 500,
        system: 'You are an engineer.',
        messages,
        tools: [
          {
            name: 'log',
            description: 'Reads.',
            input_schema: { type: 'object', properties: { n: { type: 'number' } } },
          },
        ],
        metadata: { user_id: 'u' },
      }
      const answer = stream
        ? await client.messages.stream(request).finalMessage()
        : await client.messages.create(request)
      const uses = answer.content.filter((block) => block.type === 'tool_use')
      said.push({
        text: answer.content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
        calls: uses.map(({ id, name, input }) => ({ id, name, input })),
      })
      expect(answer.usage.input_tokens + (answer.usage.cache_read_input_tokens ?? 0)).toBeGreaterThan(0)
      expect(answer.stop_reason).toBe(uses.length > 0 ? 'tool_use' : 'end_turn')
      if (uses.length === 0) return said
      messages.push(
        { role: 'assistant', content: answer.content },
        {
          role: 'user',
          content: uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: result(said.length) })),
        },
      )
    }
  },
  async 'openai-chat'(base, stream, result) {
    const client = new OpenAI({ apiKey: 'client-key', baseURL: `${base}/v1`, maxRetries: 0 })
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'system', content: 'You are an engineer.' },
      { role: 'user', content: 'Why is checkout slow?' },
    ]
    const said: Say[] = []
    for (;;) {
      const request = {
        model: 'gpt-4.1',
        messages,
        tools: [
          {
            type: 'function' as const,
            function: { name: 'log', parameters: { type: 'object', properties: { n: { type: 'number' } } } },
          },
        ],
        user: 'u',
      }
      const answer = stream
        ? await client.chat.completions
            .stream({ ...request, stream_options: { include_usage: true } })
            .finalChatCompletion()
        : await client.chat.completions.create(request)
      const { message, finish_reason } = answer.choices[0]!
      const made = (message.tool_calls ?? []).flatMap((one) => (one.type === 'function' ? [one] : []))
      said.push({
        text: message.content ?? '',
        calls: made.map((one) => ({ id: one.id, name: one.function.name, input: JSON.parse(one.function.arguments) })),
      })
      expect(answer.usage!.prompt_tokens).toBeGreaterThan(0)
      expect(finish_reason).toBe(made.length > 0 ? 'tool_calls' : 'stop')
      if (made.length === 0) return said
      messages.push(message)
      for (const { id } of made) messages.push({ role: 'tool', tool_call_id: id, content: result(said.length) })
    }
  },
  async 'openai-responses'(base, stream, result) {
    const client = new OpenAI({ apiKey: 'client-key', baseURL: `${base}/v1`, maxRetries: 0 })
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: 'user', content: 'Why is checkout slow?' }]
    const said: Say[] = []
    for (;;) {
      const request = {
        model: 'gpt-5.2',
        instructions: 'You are an engineer.',
        input,
        store: false,
        tools: [
          {
            type: 'function' as const,
            name: 'log',
            parameters: { type: 'object', properties: { n: { type: 'number' } } },
            strict: false,
          },
        ],
      }
      const answer = stream
        ? await client.responses.stream(request).finalResponse()
        : await client.responses.create(request)
      const made = answer.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
      said.push({
        text: answer.output_text,
        calls: made.map((one) => ({ id: one.call_id, name: one.name, input: JSON.parse(one.arguments) })),
      })
      expect([answer.status, (answer.usage?.input_tokens ?? 0) > 0]).toEqual(['completed', true])
      if (made.length === 0) return said
      if (answer.output_text !== '') input.push({ role: 'assistant', content: answer.output_text })
      for (const { call_id, name, arguments: text } of made) {
        input.push({ type: 'function_call', call_id, name, arguments: text })
      }
      for (const { call_id } of made) input.push({ type: 'function_call_output', call_id, output: result(said.length) })
    }
  },
  async gemini(base, stream, result) {
    const client = new GoogleGenAI({ apiKey: 'client-key', httpOptions: { baseUrl: base } })
    const contents: Content[] = [{ role: 'user', parts: [{ text: 'Why is checkout slow?' }] }]
    const said: Say[] = []
    for (;;) {
      const request = {
        model: 'gemini-2.5-pro',
        contents,
        config: {
          systemInstruction: 'You are an engineer.',
          tools: [
            {
              functionDeclarations: [
                { name: 'log', parametersJsonSchema: { type: 'object', properties: { n: { type: 'number' } } } },
              ],
            },
          ],
        },
      }
      const answers: GenerateContentResponse[] = []
      if (!stream) answers.push(await client.models.generateContent(request))
      else for await (const chunk of await client.models.generateContentStream(request)) answers.push(chunk)
      const parts = answers.flatMap((answer) => answer.candidates?.[0]?.content?.parts ?? [])
      const made = parts.flatMap((part) => (part.functionCall === undefined ? [] : [part.functionCall]))
      said.push({
        text: parts.map((part) => (part.thought === true ? '' : (part.text ?? ''))).join(''),
        calls: made.map(({ id = '', name = '', args }) => ({ id, name, input: args })),
      })
      expect(answers.at(-1)!.usageMetadata?.promptTokenCount).toBeGreaterThan(0)
      if (made.length === 0) return said
      contents.push(
        { role: 'model', parts: parts.filter((part) => part.text !== '') },
        {
          role: 'user',
          parts: made.map(({ id, name }) => ({
            functionResponse: {
              ...(id !== undefined && { id }),
              name: name!,
              response: { output: result(said.length) },
            },
          })),
        },
      )
    }
  },
}

interface Crossed extends TestProxy {
  readonly referee: RunningReferee
  readonly base: string
}

/** A proxy whose route for `from` leads to a referee that speaks `to`, behind a place of its own that is down. */
async function crossed(
  from: Wire,
  to: Wire,
  referee: Omit<StartRefereeOptions, 'wire'> = {},
  settings: PlimsollOptions = {},
): Promise<Crossed> {
  const running = await startReferee({ wire: to, apiKey: 'their-key', ...referee })
  closeLater(() => running.close())
  const down = await plainUpstream((_request, response) => void response.writeHead(503).end('{"error":"down"}'))
  const on = await testProxy(
    {
      upstreams: {
        [PREFIX[from]]: [down.url, { url: running.url, wire: to, model: MODEL[to], headers: CREDENTIAL[to] }],
      },
    },
    settings,
  )
  return { ...on, referee: running, base: `${on.proxy.url}/${PREFIX[from]}` }
}

const SCRIPT = [
  call('log', { n: 1 }, 'I look at the “log”.'),
  calls([
    { name: 'log', input: { n: 2, deep: { list: [1, 'zwei'] } } },
    { name: 'log', input: {} },
  ]),
  say('The pool was halved.'),
]

const WIRES = Object.keys(AGENTS) as Wire[]
const PAIRS = WIRES.flatMap((from) => WIRES.filter((to) => to !== from).map((to) => [from, to] as const))

describe.each(PAIRS)('a client of %s in front of %s', (from, to) => {
  it.each([true, false])('runs its tools and hears the same words (streamed: %s)', async (stream) => {
    const on = await crossed(from, to, { script: SCRIPT, chunkBytes: 37 })
    const said = await AGENTS[from](on.base, stream, (step) => `result ${step}`)
    expect(said.map(({ text, calls: made }) => [text, made.map(({ input }) => input)])).toEqual([
      ['I look at the “log”.', [{ n: 1 }]],
      ['', [{ n: 2, deep: { list: [1, 'zwei'] } }, {}]],
      ['The pool was halved.', []],
    ])
    expect(new Set(said.flatMap(({ calls: made }) => made.map(({ id }) => id))).size).toBe(3)
    expect(on.referee.summary()).toMatchObject({ answered: 3, invalid: 0, overflows: 0 })
    const last = Buffer.from(on.referee.log.at(-1)!.raw).toString()
    for (const word of ['You are an engineer.', 'Why is checkout slow?', 'result 1', 'result 2']) {
      expect(last).toContain(word)
    }
    expect(on.referee.log.flatMap(({ headers }) => Object.values(headers)).join()).not.toContain('client-key')
    // Answers are recorded when the client has them.
    await on.proxy.close()
    expect(on.events.filter((event) => event.type === 'usage-recorded')).toHaveLength(3)
  })
})

describe.each([
  ['openai-chat', 'anthropic-messages'],
  ['anthropic-messages', 'openai-chat'],
] as const)('a long run of %s on %s', (from, to) => {
  it('stays inside the other side’s window, refusals included', async () => {
    const on = await crossed(
      from,
      to,
      {
        window: 8_000,
        script: ({ number }) => (number >= 40 ? say('Done.') : call('log', { n: number })),
      },
      { window: 1_000_000 },
    )
    const said = await AGENTS[from](on.base, true, toolOutput)
    expect(said.at(-1)!.text).toBe('Done.')
    expect(on.referee.summary()).toMatchObject({ answered: 40, invalid: 0, overflows: 1 })
    expect(on.events.filter((event) => event.type === 'overflow-recovered')).toHaveLength(1)
  })
})

describe('what cannot be converted', () => {
  const ask = (on: Crossed, extra: object): Promise<Response> =>
    post(
      `${on.base}/v1/chat/completions`,
      JSON.stringify({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }], ...extra }),
      { authorization: 'Bearer client-key' },
    )

  it('is refused by name when no other place is left, and is the first place’s error when there was one', async () => {
    const on = await crossed('openai-chat', 'anthropic-messages')
    const schema = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'object' } } } }
    const behind = await ask(on, schema)
    expect([behind.status, await behind.text()]).toEqual([503, '{"error":"down"}'])
    const { proxy } = await testProxy({
      upstreams: { openai: { url: on.referee.url, wire: 'anthropic-messages', model: 'claude-opus-4-6' } },
    })
    const alone = await post(
      `${proxy.url}/openai/v1/chat/completions`,
      JSON.stringify({
        model: 'gpt-4.1',
        messages: [{ role: 'user', content: 'Hi' }],
        ...schema,
        logit_bias: { 5: 1 },
      }),
    )
    expect(alone.status).toBe(501)
    expect(await alone.json()).toMatchObject({
      error: {
        code: 'unsupported',
        message: expect.stringMatching(/anthropic-messages.*response_format.*logit_bias/) as string,
      },
    })
    expect(alone.headers.get('x-should-retry')).toBe('false')
    expect(on.referee.log).toEqual([])
  })

  it('does not mind what changes nothing', async () => {
    const on = await crossed('openai-chat', 'anthropic-messages', { script: [say('Hello')] })
    const response = await ask(on, {
      seed: 5,
      user: 'u',
      reasoning_effort: 'low',
      n: 1,
      response_format: { type: 'text' },
    })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-plimsoll-wire')).toBe('anthropic-messages')
    expect(on.events.find((event) => event.type === 'warning')).toMatchObject({
      topic: 'cross-wire',
      message: expect.stringContaining('seed') as string,
    })
  })

  it('says so for everything that is no model call', async () => {
    const { proxy } = await testProxy({
      upstreams: { openai: { url: 'http://127.0.0.1:1', wire: 'gemini', model: 'gemini-2.5-pro' } },
    })
    const response = await fetch(`${proxy.url}/openai/v1/models`)
    expect([response.status, await response.text()]).toEqual([501, expect.stringContaining('another API format')])
    const unlooked = await post(`${proxy.url}/openai/v1/chat/completions`, '{}', { 'x-plimsoll-policy': 'off' })
    expect(unlooked.status).toBe(501)
  })

  it('hands errors of the other side on in the client’s shape', async () => {
    const on = await crossed('openai-chat', 'anthropic-messages', {
      faults: [{ on: 'every', fault: { kind: 'throttle', retryAfterSeconds: 7 } }],
    })
    const client = new OpenAI({ apiKey: 'k', baseURL: `${on.base}/v1`, maxRetries: 0 })
    const failed = await client.chat.completions
      .create({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] })
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ status: 429, code: 'rate_limit_error' })
    expect((failed as Error).message).toContain('40,000 input tokens per minute')
    expect((failed as InstanceType<typeof OpenAI.APIError>).headers?.get('retry-after')).toBe('7')
  })

  it.each([
    ['cut-stream', /./],
    ['error-event', /Overloaded/],
  ] as const)('breaks off where the other side does: %s', async (kind, words) => {
    const on = await crossed('openai-chat', 'anthropic-messages', {
      script: [say('one two three four five six seven eight nine ten '.repeat(20))],
      faults: [{ on: 'every', fault: { kind } }],
    })
    const client = new OpenAI({ apiKey: 'k', baseURL: `${on.base}/v1`, maxRetries: 0 })
    const reading = client.chat.completions
      .stream({ model: 'gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] })
      .finalChatCompletion()
    await expect(reading).rejects.toThrow(words)
  })
})
