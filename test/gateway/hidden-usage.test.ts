import { expect, it } from 'vitest'
import Anthropic from '@anthropic-ai/sdk'
import { call, say, type Answer, type BrainTurn } from '../../src/testing/referee/index.ts'
import { stage } from '../sdks/ways.ts'

const HEAD = Array.from({ length: 1_200 }, (_, i) => `Rule ${i}: keep module ${i % 37} apart from ${i % 11}.`).join(
  '\n',
)

it.each([true, false])(
  'a client is told how full the window is, the ledger what was billed (streamed: %s)',
  async (stream) => {
    const script = (turn: BrainTurn): Answer => (turn.number <= 2 ? call('recall', { query: 'rule' }) : say('Done.'))
    const on = await stage('fetch', { referee: { wire: 'anthropic-messages', script, window: 200_000 } })
    const client = new Anthropic({ apiKey: 'k', baseURL: on.base, maxRetries: 0, fetch: on.fetch! })
    const request = {
      model: 'claude-opus-4-6',
      max_tokens: 100,
      system: HEAD,
      tools: [{ name: 'bash', input_schema: { type: 'object' as const } }],
      messages: [{ role: 'user' as const, content: 'Which rule holds?' }],
    }
    const answer = stream ? await client.messages.stream(request).finalMessage() : await client.messages.create(request)
    const { log } = on.referee
    expect(log).toHaveLength(3)
    const { input_tokens, cache_read_input_tokens, cache_creation_input_tokens } = answer.usage
    expect(input_tokens + (cache_read_input_tokens ?? 0) + (cache_creation_input_tokens ?? 0)).toBe(log[2]!.inputTokens)
    const billed = on.events.flatMap((event) => (event.type === 'usage-recorded' ? [event] : []))
    expect(billed.map(({ usage }) => usage.input)).toEqual(log.map(({ inputTokens }) => inputTokens))
    // The next answer's header has all of it.
    const { response } = await client.messages
      .create({
        ...request,
        messages: [...request.messages, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'And now?' }],
      })
      .withResponse()
    const cost = billed.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0)
    expect(Number(response.headers.get('x-plimsoll-cost'))).toBeCloseTo(cost, 5)
  },
)
