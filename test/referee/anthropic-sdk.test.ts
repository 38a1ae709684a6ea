import Anthropic from '@anthropic-ai/sdk'
import { BadRequestError } from '@anthropic-ai/sdk'
import { afterEach, describe, expect, it } from 'vitest'
import {
  call,
  calls,
  createReferee,
  refuse,
  say,
  startReferee,
  think,
  type RunningReferee,
  type StartRefereeOptions,
} from '../../src/testing/referee/index.ts'

const MODEL = 'claude-sonnet-4-6'
const TOOLS: Anthropic.Tool[] = [
  {
    name: 'bash',
    description: 'Runs a command.',
    input_schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
]

const running: RunningReferee[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((referee) => referee.close()))
})

/** The same client against the referee in process and behind a socket. */
async function clientFor(way: 'in-process' | 'http', options: Omit<StartRefereeOptions, 'wire'>) {
  const all = { wire: 'anthropic-messages', ...options } as const
  if (way === 'in-process') {
    const referee = createReferee(all)
    return { referee, client: new Anthropic({ apiKey: 'key', maxRetries: 0, fetch: referee.fetch }) }
  }
  const referee = await startReferee(all)
  running.push(referee)
  return { referee, client: new Anthropic({ apiKey: 'key', maxRetries: 0, baseURL: referee.url }) }
}

const userSays = (content: string): Anthropic.MessageParam => ({ role: 'user', content })

describe.each(['in-process', 'http'] as const)('anthropic referee with the real SDK, %s', (way) => {
  it('answers a plain request with usage', async () => {
    const { client, referee } = await clientFor(way, { script: [say('Hello.')] })
    const message = await client.messages.create({ model: MODEL, max_tokens: 100, messages: [userSays('Hi')] })
    expect(message.content).toMatchObject([{ type: 'text', text: 'Hello.' }])
    expect(message.stop_reason).toBe('end_turn')
    expect(message.usage.input_tokens).toBe(referee.log[0]?.inputTokens)
    expect(referee.summary()).toMatchObject({ requests: 1, answered: 1, overflows: 0, invalid: 0 })
  })

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
    const messages: Anthropic.MessageParam[] = [userSays('Go')]
    const texts: string[] = []
    for (let step = 0; step < 3; step += 1) {
      const stream = client.messages.stream({ model: MODEL, max_tokens: 500, tools: TOOLS, messages })
      const message = await stream.finalMessage()
      messages.push({ role: 'assistant', content: message.content })
      const results = message.content.flatMap((block) =>
        block.type === 'tool_use' ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: 'ok' }] : [],
      )
      for (const block of message.content) if (block.type === 'text') texts.push(block.text)
      if (results.length > 0) messages.push({ role: 'user', content: results })
    }
    expect(texts).toEqual(['Ich prüfe 🚢.', 'Fertig ✅'])
    expect(messages[1]).toMatchObject({
      content: [{}, { input: { command: 'ls “höhe” 🚀' } }, { input: { command: 'pwd' } }],
    })
    expect(referee.summary()).toMatchObject({ answered: 3, invalid: 0, overflows: 0, cacheBreaks: 0 })
  })

  it('refuses a call without its result and names the rule', async () => {
    const { client, referee } = await clientFor(way, {})
    const messages: Anthropic.MessageParam[] = [
      userSays('Go'),
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'bash', input: {} }] },
      userSays('and?'),
    ]
    const failed = client.messages.create({ model: MODEL, max_tokens: 100, tools: TOOLS, messages })
    await expect(failed).rejects.toThrow(/toolu_1.*\[rule: calls-answered\]/)
    await expect(failed).rejects.toBeInstanceOf(BadRequestError)
    expect(referee.summary()).toMatchObject({ answered: 0, invalid: 1 })
  })

  it('says in the vendor’s words that a prompt does not fit', async () => {
    const { client, referee } = await clientFor(way, { window: 1_000, tokenizer: (text) => text.length })
    const create = (length: number, max_tokens: number, model = MODEL) =>
      client.messages.create({ model, max_tokens, messages: [userSays('x'.repeat(length))] })
    await expect(create(2_000, 10)).rejects.toThrow(/prompt is too long: \d+ tokens > 1000 maximum/)
    // From 4.5 on, answers end at the window instead.
    await expect(create(900, 500)).resolves.toBeDefined()
    await expect(create(900, 500, 'claude-opus-4-1')).rejects.toThrow(/exceed context limit: \d+ \+ 500 > 1000/)
    await expect(create(900, 50)).resolves.toBeDefined()
    expect(referee.log.map(({ overflow }) => overflow)).toEqual([true, false, true, false])
  })

  it('counts tokens at the count endpoint as it counts them for real', async () => {
    const { client, referee } = await clientFor(way, { script: [say('x')] })
    const body = { model: MODEL, system: 'Be brief.', tools: TOOLS, messages: [userSays('How many?')] }
    const counted = await client.messages.countTokens(body)
    const message = await client.messages.create({ ...body, max_tokens: 10 })
    expect(counted.input_tokens).toBe(message.usage.input_tokens)
    expect(referee.summary().requests).toBe(1)
  })

  it('signs thinking and takes it back only unchanged', async () => {
    const script = [think('I should look.', call('bash', { command: 'ls' }))]
    const { client, referee } = await clientFor(way, { script })
    const base = {
      model: MODEL,
      max_tokens: 4000,
      tools: TOOLS,
      thinking: { type: 'enabled' as const, budget_tokens: 1024 },
    }
    const first = await client.messages.create({ ...base, messages: [userSays('Go')] })
    const [thinking, use] = first.content
    if (thinking?.type !== 'thinking' || use?.type !== 'tool_use') throw new Error('unexpected answer')
    const send = (content: Anthropic.ContentBlockParam[]) =>
      client.messages.create({
        ...base,
        messages: [
          userSays('Go'),
          { role: 'assistant', content },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'a' }] },
        ],
      })
    await expect(send([{ ...thinking, thinking: 'I should not.' }, use])).rejects.toThrow(/rule: thinking-signature/)
    await expect(send([use])).rejects.toThrow(/rule: thinking-first/)
    await expect(send([thinking, thinking, use])).rejects.toThrow(/rule: thinking-unmodified/)
    await expect(send([thinking, use])).resolves.toBeDefined()
    expect(referee.summary().invalid).toBe(3)
  })

  it('streams a refusal', async () => {
    const { client } = await clientFor(way, { script: [refuse('No.')] })
    const stream = client.messages.stream({ model: MODEL, max_tokens: 100, messages: [userSays('Hi')] })
    expect((await stream.finalMessage()).stop_reason).toBe('refusal')
  })

  it('lists models', async () => {
    const { client } = await clientFor(way, { models: ['a', 'b'] })
    const page = await client.models.list()
    expect(page.data.map(({ id }) => id)).toEqual(['a', 'b'])
  })
})
