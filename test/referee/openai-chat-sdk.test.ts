import OpenAI from 'openai'
import { BadRequestError } from 'openai'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import { afterEach, describe, expect, it } from 'vitest'
import {
  call,
  calls,
  createReferee,
  overlong,
  refuse,
  say,
  startReferee,
  think,
  type RunningReferee,
  type StartRefereeOptions,
} from '../../src/testing/referee/index.ts'

const MODEL = 'gpt-4.1'
const tools: ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'bash', parameters: { type: 'object', properties: { command: { type: 'string' } } } },
  },
]

const running: RunningReferee[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((referee) => referee.close()))
})

async function clientFor(way: 'in-process' | 'http', options: Omit<StartRefereeOptions, 'wire'>) {
  const all = { wire: 'openai-chat', ...options } as const
  if (way === 'in-process') {
    const referee = createReferee(all)
    return { referee, client: new OpenAI({ apiKey: 'key', maxRetries: 0, fetch: referee.fetch }) }
  }
  const referee = await startReferee(all)
  running.push(referee)
  return { referee, client: new OpenAI({ apiKey: 'key', maxRetries: 0, baseURL: `${referee.url}/v1` }) }
}

describe.each(['in-process', 'http'] as const)('openai-chat referee with the real SDK, %s', (way) => {
  it('runs a tool loop with parallel calls, streaming, in chunks that split characters and events', async () => {
    const script = [
      calls(
        [
          { name: 'bash', input: { command: 'ls “höhe” 🚀' } },
          { name: 'bash', input: { command: 'pwd' } },
        ],
        'Ich prüfe 🚢.',
      ),
      call('bash', { command: 'cat a' }),
      say('Fertig ✅'),
    ]
    const { client, referee } = await clientFor(way, { script, chunkBytes: 5, keepAliveEvery: 2 })
    const messages: ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go' }]
    const texts: string[] = []
    for (let step = 0; step < 3; step += 1) {
      const stream = client.chat.completions.stream({
        model: MODEL,
        tools,
        messages,
        stream_options: { include_usage: true },
      })
      const message = await stream.finalMessage()
      expect((await stream.totalUsage()).prompt_tokens).toBe(referee.log[step]?.inputTokens)
      messages.push(message)
      if (typeof message.content === 'string' && message.content !== '') texts.push(message.content)
      for (const { id } of message.tool_calls ?? []) messages.push({ role: 'tool', tool_call_id: id, content: 'ok' })
    }
    expect(texts).toEqual(['Ich prüfe 🚢.', 'Fertig ✅'])
    expect(messages[1]).toMatchObject({ tool_calls: [{ function: { arguments: '{"command":"ls “höhe” 🚀"}' } }, {}] })
    expect(referee.summary()).toMatchObject({ answered: 3, invalid: 0, overflows: 0, cacheBreaks: 0 })
  })

  it('reports usage in a stream only when asked', async () => {
    const { client } = await clientFor(way, { script: () => say('x') })
    const usages: unknown[] = []
    for (const stream_options of [undefined, { include_usage: true }]) {
      const request = { model: MODEL, messages: [{ role: 'user' as const, content: 'Hi' }], stream: true as const }
      const stream = await client.chat.completions.create({ ...request, ...(stream_options && { stream_options }) })
      let usage: unknown
      for await (const chunk of stream) usage = chunk.usage ?? usage
      usages.push(usage)
    }
    expect(usages).toEqual([undefined, expect.objectContaining({ completion_tokens: 1 })])
  })

  it('refuses an orphaned result and names the rule', async () => {
    const { client, referee } = await clientFor(way, {})
    const messages: ChatCompletionMessageParam[] = [
      { role: 'user', content: 'Go' },
      { role: 'tool', tool_call_id: 'c', content: 'x' },
    ]
    const failed = client.chat.completions.create({ model: MODEL, messages })
    await expect(failed).rejects.toBeInstanceOf(BadRequestError)
    await expect(failed).rejects.toThrow(/rule: results-have-calls/)
    expect(referee.summary().invalid).toBe(1)
  })

  it('refuses a prompt that does not fit, with the code clients look for', async () => {
    const { client } = await clientFor(way, { window: 1_000, tokenizer: (text) => text.length })
    const create = (length: number, max_completion_tokens: number) =>
      client.chat.completions.create({
        model: MODEL,
        max_completion_tokens,
        messages: [{ role: 'user', content: 'x'.repeat(length) }],
      })
    await expect(create(2_000, 10)).rejects.toMatchObject({
      status: 400,
      code: 'context_length_exceeded',
      param: 'messages',
    })
    await expect(create(900, 500)).rejects.toThrow(
      /you requested \d+ tokens \(\d+ in the messages, 500 in the completion\)/,
    )
    await expect(create(900, 50)).resolves.toBeDefined()
  })

  it('hands out reasoning_content, refusals and length stops', async () => {
    const { client } = await clientFor(way, { script: [think('Hm.', say('Yes.')), refuse('No.'), overlong()] })
    const create = () =>
      client.chat.completions.create({ model: MODEL, max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] })
    expect((await create()).choices[0]?.message).toMatchObject({ content: 'Yes.', reasoning_content: 'Hm.' })
    expect((await create()).choices[0]?.message).toMatchObject({ content: null, refusal: 'No.' })
    const long = await create()
    expect(long.choices[0]?.finish_reason).toBe('length')
    expect(long.usage?.completion_tokens).toBeLessThanOrEqual(20)
  })

  it('caches a prefix in blocks of 128 tokens from 1,024 on', async () => {
    const { client } = await clientFor(way, { tokenizer: (text) => text.length, script: () => say('x') })
    const head: ChatCompletionMessageParam = { role: 'system', content: 's'.repeat(1_500) }
    const create = (content: string) =>
      client.chat.completions.create({ model: MODEL, messages: [head, { role: 'user', content }] })
    expect((await create('one')).usage?.prompt_tokens_details?.cached_tokens).toBe(0)
    expect((await create('two')).usage?.prompt_tokens_details?.cached_tokens).toBe(1_408)
  })

  it('lists models', async () => {
    const { client } = await clientFor(way, { models: ['a', 'b'] })
    expect((await client.models.list()).data.map(({ id }) => id)).toEqual(['a', 'b'])
  })
})

describe('openai-chat sub-profiles', () => {
  it('issues and asks for nine-character ids as Mistral does', async () => {
    const { client, referee } = await clientFor('in-process', { profile: 'mistral', script: [call('bash')] })
    const first = await client.chat.completions.create({
      model: 'mistral-large',
      tools,
      messages: [{ role: 'user', content: 'Go' }],
    })
    const message = first.choices[0]?.message
    const id = message?.tool_calls?.[0]?.id ?? ''
    expect(id).toMatch(/^[a-zA-Z0-9]{9}$/)
    const messages = [{ role: 'user', content: 'Go' }, message, { role: 'tool', tool_call_id: id, content: 'ok' }]
    await client.chat.completions.create({
      model: 'mistral-large',
      tools,
      messages: messages as ChatCompletionMessageParam[],
    })
    expect(referee.summary()).toMatchObject({ answered: 2, invalid: 0 })
  })

  it.each([
    ['llama-server', /exceeds the available context size/],
    ['lm-studio', /greater than the context length/],
    ['ollama', /input length exceeds the context length/],
    ['vllm', /maximum context length is 100 tokens/],
    ['groq', /reduce the length of the messages or completion/],
    ['mistral', /too large for model with 100 maximum context length/],
  ])('refuses in the words of %s', async (profile, words) => {
    const referee = createReferee({ wire: 'openai-chat', window: 100, profile })
    const response = await referee.fetch('http://referee/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer k' },
      body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'word '.repeat(500) }] }),
    })
    expect(response.status).toBe(400)
    expect(await response.text()).toMatch(words)
  })
})
