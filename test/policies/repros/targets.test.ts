import { describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../../src/core/events.ts'
import { plainUpstream, post, testProxy } from '../../gateway/upstream.ts'
import { open, step, tool, words } from './chat.ts'

const SMALL = { model: 'gpt-4o', window: 8_000, maxOutputTokens: 500 }
const LARGE = { model: 'gpt-4.1', window: 100_000, maxOutputTokens: 500 }
const FINAL = 'agent__final_report'

const body = {
  model: 'gpt-4o',
  messages: [
    { role: 'user', content: 'task' },
    ...Array.from({ length: 12 }, (_, n) => step(`k${n}`, 'x', { n }, words(4_000, n + 1))).flat(),
  ],
  tools: [tool('x'), tool(FINAL)],
  max_tokens: 500,
}

const skipped = (events: readonly PlimsollEvent[]): string[] =>
  events.flatMap((event) =>
    event.type === 'verdict-given' && event.verdict.kind === 'skip' ? [event.verdict.target.model] : [],
  )

const toolNames = (sent: unknown): string[] =>
  (sent as { tools: { function: { name: string } }[] }).tools.map(({ function: { name } }) => name)

describe.each(['ai-agent', 'plimsoll', 'contextguard'])('f1: two targets through prepare under %s', (policy) => {
  it.each([
    ['the small one first', [SMALL, LARGE], ['gpt-4o']],
    ['the large one first', [LARGE, SMALL], []],
  ])('%s: the large one gets the request as it is', async (_, targets, skips) => {
    const { messages, plimsoll, events } = open({ policy })
    const { turn } = await messages(body, targets)
    expect(turn.verdict).toMatchObject({ kind: 'proceed', target: { model: 'gpt-4.1' } })
    expect(turn.report.untouched).toBe(true)
    expect(skipped(events)).toEqual(skips)
    await plimsoll.close()
  })

  it('only the small one: ai-agent closes with its report tool, the others reduce', async () => {
    const { messages, plimsoll } = open({ policy })
    const { turn } = await messages(body, [SMALL])
    expect(turn.verdict.kind).toBe(policy === 'ai-agent' ? 'final' : 'proceed')
    expect(toolNames(turn.body)).toEqual(policy === 'ai-agent' ? [FINAL] : ['x', FINAL])
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    await plimsoll.close()
  })
})

describe.each(['ai-agent', 'plimsoll'])('f2: two upstreams behind the proxy under %s', (policy) => {
  it('the small one is skipped and never asked', async () => {
    const answering = (name: string) =>
      plainUpstream((_request, response) => {
        const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: name } }]
        const usage = { prompt_tokens: 3_000, completion_tokens: 5, total_tokens: 3_005 }
        const answer = { id: name, object: 'chat.completion', created: 1, model: name, choices, usage }
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
      })
    const [small, large] = [await answering('small'), await answering('large')]
    const openai = [
      { url: small.url, window: 8_000, model: 'gpt-4o' },
      { url: large.url, window: 100_000, model: 'gpt-4.1' },
    ]
    const { proxy, events } = await testProxy({ upstreams: { openai } }, { policy })
    const response = await post(`${proxy.url}/openai/v1/chat/completions`, JSON.stringify(body))
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ id: 'large' })
    expect(small.received).toEqual([])
    const { messages } = body
    expect(JSON.parse(large.received[0]!.body.toString())).toMatchObject({ model: 'gpt-4.1', messages })
    expect(skipped(events)).toEqual(['gpt-4o'])
  })
})
