import { describe, expect, it } from 'vitest'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { createPlimsoll } from '../../src/plimsoll.ts'
import { plainUpstream } from '../gateway/upstream.ts'
import { call, result, tool, words, type ChatMessage } from './repros/chat.ts'

const REPORT = 'agent__final_report'
const tools = [tool('search'), tool(REPORT)]
const open = () => createPlimsoll({ policy: 'ai-agent', store: 'memory:', artifacts: 'memory:' })
const prepare = async (messages: readonly ChatMessage[], model: string, window = 32_768) => {
  const plimsoll = open()
  const body = { model, max_tokens: 1_024, messages, tools }
  const turn = await plimsoll
    .session({ id: 's' })
    .prepare({ format: 'openai-chat', body, targets: [{ model, window }] })
  await plimsoll.close()
  const sent = JSON.parse(turn.text) as { messages: ChatMessage[]; tools: unknown[] }
  return { turn, ...sent }
}

describe.each(['my-llama-3', 'gpt-4o'])('%s', (model) => {
  it.each([30_000, 44_000, 60_000, 80_000])('proceeds with a task of %i characters, whole', async (length) => {
    const task: ChatMessage = {
      role: 'user',
      content: `TASK ${'find the bug in the checkout service. '.repeat(3_000)}`.slice(0, length),
    }
    const { turn, messages, tools: left } = await prepare([task], model)
    expect(turn.verdict.kind).toBe('proceed')
    expect(left).toHaveLength(2)
    expect(messages).toEqual([task])
  })

  it('closes where its own projection is above the limit', async () => {
    const { turn, tools: left } = await prepare([{ role: 'user', content: 'find the bug. '.repeat(9_000) }], model)
    expect(turn.verdict.kind).toBe('final')
    expect(left).toHaveLength(1)
  })

  it('goes on turn after turn as far as the projection allows', async () => {
    const plimsoll = open()
    const session = plimsoll.session({ id: 's' })
    const messages: ChatMessage[] = [{ role: 'user', content: 'TASK: find the bug.' }]
    let verdict = 'proceed'
    let characters = 0
    for (let i = 0; verdict === 'proceed' && i < 60; i++) {
      messages.push(call(`c${i}`, 'search', { i }), result(`c${i}`, words(4_000, i + 1)))
      const body = { model, max_tokens: 1_024, messages, tools }
      const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model, window: 32_768 }] })
      verdict = turn.verdict.kind
      if (verdict === 'proceed') characters += 4_000
      const { messages: sent } = JSON.parse(turn.text) as { messages: ChatMessage[] }
      expect(sent.find(({ role }) => role === 'user')!.content).toContain('TASK: find the bug.')
    }
    await plimsoll.close()
    // The limit is 27,648 tokens: by four characters to a token 110,592 fit, and a known tokenizer may count twice as many of this text.
    expect(characters).toBeGreaterThan(44_000)
    // A model that the catalogue knows closes; on another one old results give way first, since its tokens are a guess.
    expect(verdict).toBe(model === 'gpt-4o' ? 'final' : 'proceed')
  })
})

describe('a stored output', () => {
  it.each([true, false])('is opened by tool_output where a model can extract: %s', async (canExtract) => {
    const upstream = await plainUpstream(({ body }, response) => {
      const { messages } = JSON.parse(body.toString()) as { messages: ChatMessage[] }
      const last = messages.at(-1)!.content!
      const [, handle, name] = /stored as (art_\w+)\. Call (\w+) with/.exec(last) ?? []
      const input = JSON.stringify({ handle, extract: 'the number of lines' })
      const message =
        handle === undefined || name !== 'tool_output'
          ? { role: 'assistant', content: `answer: ${last}` }
          : call('x1', 'tool_output', JSON.parse(input) as object)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify({ id: 'x', model: 'gpt-4o', choices: [{ index: 0, message }] }))
    })
    const asked: string[] = []
    const plimsoll = createPlimsoll({
      policy: 'ai-agent',
      store: 'memory:',
      artifacts: 'memory:',
      ...(canExtract && {
        summarizer: async (prompt: string) => {
          asked.push(prompt)
          return `${/<answer-\w+>/.exec(prompt)![0]}412 lines`
        },
      }),
    })
    const messages = [{ role: 'user', content: 'go' }, call('c1', 'search'), result('c1', words(20_000))]
    const response = await plimsoll.fetch(`${upstream.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': 's' },
      body: JSON.stringify({ model: 'gpt-4o', max_tokens: 1_000, messages, tools }),
    })
    const { choices } = (await response.json()) as { choices: { message: { content: string } }[] }
    const sent = upstream.received.map(
      ({ body }) => JSON.parse(body.toString()) as { tools: { function: { name: string } }[] },
    )
    const names = sent[0]!.tools.map((one) => one.function.name)
    await plimsoll.close()
    expect(names.includes('tool_output')).toBe(canExtract)
    expect(names).not.toContain('artifact_extract')
    expect(choices[0]!.message.content).toContain(canExtract ? '412 lines' : '')
    expect(asked.length > 0).toBe(canExtract)
  })
})

describe('two targets', () => {
  it('logs the one that is skipped, in the words of the design', async () => {
    const lines: string[] = []
    const plimsoll = createPlimsoll({
      policy: policyNamed('ai-agent', { CONTEXT_DEBUG: 'true' }),
      store: 'memory:',
      artifacts: 'memory:',
      onEvent: (event) => event.type === 'warning' && lines.push(`${event.topic} ${event.message}`),
    })
    const body = { max_tokens: 500, messages: [{ role: 'user', content: words(60_000) }], tools }
    const targets = [
      { model: 'gpt-4o', provider: 'small', window: 12_000 },
      { model: 'gpt-4.1', provider: 'large', window: 120_000 },
    ]
    const turn = await plimsoll.session({ id: 's' }).prepare({ format: 'openai-chat', body, targets })
    await plimsoll.close()
    expect(turn.verdict).toMatchObject({ kind: 'proceed', target: { provider: 'large' } })
    const evaluated = lines.filter((line) => line.startsWith('context-guard/provider-eval '))
    expect(evaluated.map((line) => /"provider":"(\w+)".*"status":"(\w+)"/.exec(line)?.slice(1))).toEqual([
      ['small', 'skip'],
      ['large', 'ok'],
    ])
    expect(lines.some((line) => line.startsWith('context-guard/enforce'))).toBe(false)
  })
})

describe('the final report', () => {
  it.each([
    ['fresh', 4_096, 0],
    ['half full', 4_096, 1],
    ['used up', 4_096, 3],
    ['of a window that was small from the start', 600, 2],
  ])('may run in a session that is %s', async (_, window, results) => {
    const plimsoll = open()
    const session = plimsoll.session({ id: 's' })
    const messages: ChatMessage[] = [{ role: 'user', content: `go ${words(window * 2)}` }]
    for (let i = 0; i < results; i++) messages.push(call(`c${i}`, 'search'), result(`c${i}`, words(6_000, i + 1)))
    const body = { model: 'gpt-4o', max_tokens: 64, messages, tools }
    await session
      .prepare({ format: 'openai-chat', body, targets: [{ model: 'gpt-4o', window }] })
      .catch(() => undefined)
    for (let i = 0; i < results; i++)
      await session.toolResult({ tool: 'search', callId: `k${i}`, output: words(6_000) })
    expect(await session.canExecute(REPORT)).toEqual({ ok: true })
    await plimsoll.close()
  })
})
