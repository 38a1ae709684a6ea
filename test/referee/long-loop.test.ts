import Anthropic from '@anthropic-ai/sdk'
import { afterEach, describe, expect, it } from 'vitest'
import { call, say, startReferee, type RunningReferee } from '../../src/testing/referee/index.ts'

const running: RunningReferee[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((referee) => referee.close()))
})

const STEPS = 40
const mark = { cache_control: { type: 'ephemeral' as const } }

/** Marks the last block of the last message only, as coding agents do before each request. */
function marked(messages: readonly Anthropic.MessageParam[]): Anthropic.MessageParam[] {
  return messages.map((message, index) => {
    if (index !== messages.length - 1 || typeof message.content === 'string') return message
    const content = message.content.map((block, at) =>
      at === message.content.length - 1 ? { ...block, ...mark } : block,
    )
    return { ...message, content } as Anthropic.MessageParam
  })
}

describe('a tool loop of 40 steps over HTTP', () => {
  it('reads its own prefix from the cache at every step, and breaks it only where the history was changed', async () => {
    const referee = await startReferee({
      wire: 'anthropic-messages',
      script: ({ number }) => (number < STEPS ? call('bash', { command: `step ${number}` }) : say('Done.')),
    })
    running.push(referee)
    const client = new Anthropic({ apiKey: 'key', maxRetries: 0, baseURL: referee.url })
    const tools: Anthropic.Tool[] = [{ name: 'bash', input_schema: { type: 'object' } }]
    const system = [{ type: 'text' as const, text: 'You are careful. '.repeat(300), ...mark }]
    let messages: Anthropic.MessageParam[] = [{ role: 'user', content: [{ type: 'text', text: 'Go' }] }]
    for (let step = 1; step <= STEPS; step += 1) {
      const stream = client.messages.stream({
        model: 'claude-sonnet-4-6',
        max_tokens: 500,
        system,
        tools,
        messages: marked(messages),
      })
      const { content } = await stream.finalMessage()
      const results = content.flatMap((block) =>
        block.type === 'tool_use'
          ? [{ type: 'tool_result' as const, tool_use_id: block.id, content: `output of ${step}\n`.repeat(30) }]
          : [],
      )
      messages = [
        ...messages,
        { role: 'assistant', content },
        ...(results.length > 0 ? [{ role: 'user' as const, content: results }] : []),
      ]
      // Half way, an epoch: the oldest steps give way to a summary.
      if (step === STEPS / 2)
        messages = [{ role: 'user', content: [{ type: 'text', text: 'Summary.' }] }, ...messages.slice(11)]
    }
    expect(referee.summary()).toMatchObject({ answered: STEPS, overflows: 0, invalid: 0, cacheBreaks: 1 })
    const broken = referee.log.filter(({ prefix }) => prefix?.broke === true)
    expect(broken.map(({ number, prefix }) => [number, prefix?.at])).toEqual([[STEPS / 2 + 1, 'messages.0.content.0']])
    const cold = referee.log.filter(({ cacheRead }) => cacheRead === 0)
    expect(cold.map(({ number }) => number)).toEqual([1])
    for (const { inputTokens, cacheRead, cacheWrite } of referee.log) expect(cacheRead + cacheWrite).toBe(inputTokens)
  })
})
