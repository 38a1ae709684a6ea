import { describe, expect, it } from 'vitest'
import type { PlimsollOptions } from '../../../src/plimsoll.ts'
import { aiAgent } from '../../../src/engine/presets/index.ts'
import { messagesApart } from '../../support/joined.ts'
import { open, step, tool, words, type ChatMessage } from './chat.ts'

const FINAL = 'agent__final_report'
const TOOLS = [tool('x'), tool(FINAL)]

function agent(options: PlimsollOptions = {}) {
  const { plimsoll, events } = open({ policy: 'ai-agent', window: 4_096, ...options })
  const session = plimsoll.session({ id: 'a' })
  const history: ChatMessage[] = [{ role: 'user', content: 'task' }]
  return {
    plimsoll,
    session,
    events,
    history,
    async prepare() {
      const turn = await session.prepare({
        format: 'openai-chat',
        body: { model: 'gpt-4o', messages: history, tools: TOOLS, max_tokens: 64 },
      })
      const usage = { input: Math.ceil(turn.load.count.tokens), output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0 }
      await session.record({ turn: turn.id, usage })
      return turn
    },
    async run(outputs: readonly string[], way: 'raw' | 'toolResult') {
      const ids = outputs.map((_, n) => `c${history.length}-${n}`)
      const shown =
        way === 'raw'
          ? outputs
          : (
              await Promise.all(outputs.map((output, n) => session.toolResult({ tool: 'x', callId: ids[n]!, output })))
            ).map(({ text }) => text)
      for (const [n, text] of shown.entries()) history.push(...step(ids[n]!, 'x', { n }, text))
    },
  }
}

describe.each(['raw', 'toolResult'] as const)('g1, g2: the tool budget through %s', (way) => {
  it('once exceeded it stays exceeded: the turn closes, and only the final report may still run', async () => {
    const { prepare, run, session, history } = agent()
    expect((await prepare()).verdict.kind).toBe('proceed')
    expect(await session.canExecute('x')).toEqual({ ok: true })
    await run([words(6_000), words(10_000, 5)], way)
    const closed = await prepare()
    expect(closed.verdict).toMatchObject({ kind: 'final', reason: 'context' })
    for (let n = 0; n < 2; n++) {
      expect(await session.canExecute('x')).toMatchObject({ ok: false, refusal: /was not run/ })
      expect(await session.canExecute(FINAL)).toEqual({ ok: true })
      history.push({ role: 'assistant', content: 'ok' }, { role: 'user', content: 'more' })
      expect((await prepare()).verdict.kind).toBe('final')
    }
  })

  it('is not exceeded by what fits', async () => {
    const { prepare, run, session } = agent()
    await prepare()
    await run([words(1_200), words(900, 5)], way)
    expect((await prepare()).verdict.kind).toBe('proceed')
    expect(await session.canExecute('x')).toEqual({ ok: true })
  })
})

describe('a conversation that has outgrown its window', () => {
  it('gets its closing turn with every further call, and never fixed-overhead', async () => {
    const { prepare, history } = agent({ window: 8_000 })
    // Nothing in it is large; it is long.
    for (let n = 0; n < 400; n++)
      history.push({ role: 'assistant', content: words(120, n + 1) }, { role: 'user', content: `go on ${n}` })
    const first = await prepare()
    expect(first.verdict).toMatchObject({ kind: 'final', reason: 'context' })
    expect(first.load.count.high).toBeLessThanOrEqual(first.limit.tokens)
    const { messages, tools } = first.body as { messages: ChatMessage[]; tools: { function: { name: string } }[] }
    expect(tools.map((one) => one.function.name)).toEqual([FINAL])
    expect(messagesApart(messages).some(({ content }) => content === 'task')).toBe(true)
    for (let n = 0; n < 3; n++) {
      history.push({ role: 'assistant', content: 'My report.' }, { role: 'user', content: 'And now?' })
      expect((await prepare()).verdict.kind).toBe('final')
    }
  })
})

describe('counters', () => {
  const debugging = () => agent({ policy: aiAgent({ CONTEXT_DEBUG: 'true' }), window: 100_000 })
  type Line = Readonly<Record<string, number | string>>
  const last = (events: readonly { type: string; topic?: string; message?: string }[], topic: string): Line =>
    JSON.parse(events.findLast((event) => event.topic === `context-guard/${topic}`)!.message!) as Line

  it('drive the projection: pending and schema first, then what was measured and what is new', async () => {
    const { prepare, run, events, session, history } = debugging()
    const first = await prepare()
    const start = last(events, 'evaluate')
    expect(start).toMatchObject({ currentCtxTokens: 0, newCtxTokens: 0, extraTokens: 0, currentReasoningTokens: 0 })
    expect(start['projectedTokens']).toBe(Number(start['pendingCtxTokens']) + Number(start['schemaCtxTokens']))
    expect(first.load.count.tokens).toBe(start['projectedTokens'])
    history.push({ role: 'assistant', content: 'ok' }, { role: 'user', content: 'y'.repeat(4_000) })
    await session.prepare({
      format: 'openai-chat',
      body: { model: 'gpt-4o', messages: history, tools: TOOLS, max_tokens: 64 },
    })
    const next = last(events, 'evaluate')
    // What the provider measured, input and output, is committed; the answer is in it.
    expect(next['currentCtxTokens']).toBe(Number(start['projectedTokens']) + 5)
    expect(next['pendingCtxTokens']).toBe(0)
    // One message of 4,000 characters: JSON bytes / 4, four of framing at most above it.
    expect(next['newCtxTokens']).toBe(Math.ceil((4_000 + JSON.stringify({ role: 'user', content: '' }).length) / 4))
    expect(next['projectedTokens']).toBe(Number(next['currentCtxTokens']) + Number(next['newCtxTokens']))
    await run([words(400)], 'raw')
  })

  it('name provider, model and the numbers of the limit', async () => {
    const { prepare, events } = debugging()
    await prepare()
    expect(last(events, 'evaluate-target')).toEqual({
      provider: 'openai-chat',
      model: 'gpt-4o',
      contextWindow: 100_000,
      bufferTokens: 8_192,
      maxOutputTokens: 64,
      limit: 91_744,
    })
    expect(last(events, 'provider-eval')).toMatchObject({ provider: 'openai-chat', model: 'gpt-4o', status: 'ok' })
  })
})

describe('tokenizers by id', () => {
  const projected = async (tokenizers: Record<string, string>, text: string) => {
    const policy = aiAgent()
    const { plimsoll, events } = open({ policy: { ...policy, estimator: { tokenizers } } })
    const { load } = await plimsoll.session({ id: 't' }).prepare({
      format: 'openai-chat',
      body: { model: 'gpt-4', messages: [{ role: 'user', content: text }] },
      targets: [{ model: 'gpt-4', window: 100_000 }],
    })
    const warnings = events.flatMap((event) => (event.type === 'warning' ? [`${event.topic}: ${event.message}`] : []))
    return { tokens: load.count.tokens, warnings }
  }
  /** A token each, where characters / 4 says a quarter of that. */
  const dense = Array.from({ length: 500 }, (_, n) => String.fromCodePoint(0x4e00 + n * 7)).join('')

  it('count exactly where the vocabulary is installed', async () => {
    const { countTokens } = await import('gpt-tokenizer/encoding/cl100k_base')
    const { tokens } = await projected({ 'gpt-4': 'tiktoken:cl100k_base' }, dense)
    expect(tokens).toBe(countTokens(`user\n${dense}`) + 4)
  })

  it('count by the model: another one’s tokenizer is not asked', async () => {
    const { tokens } = await projected({ 'gpt-4o': 'tiktoken:cl100k_base' }, dense)
    expect(tokens).toBe(Math.ceil(Buffer.byteLength(JSON.stringify({ role: 'user', content: dense })) / 4))
  })

  it('warn about an id that nobody knows, and count characters / 4', async () => {
    const { warnings } = await projected({ 'gpt-4': 'tokenizer-of-mine' }, 'hello')
    expect(warnings.join()).toContain('Unknown tokenizer "tokenizer-of-mine"')
  })
})
