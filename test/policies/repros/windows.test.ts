import { describe, expect, it } from 'vitest'
import { open, step, tool, words } from './chat.ts'

describe('d2: a small window without an output cap in the request', () => {
  it.each([
    ['gpt-4o', 16_000],
    ['gpt-4o', 16_384],
    ['gpt-4o', 16_500],
    ['gpt-4o', 17_000],
    ['gpt-4o', 20_000],
    ['gpt-4o', 24_000],
    ['my-local-model', 4_096],
    ['my-local-model', 5_000],
    ['my-local-model', 8_192],
    ['claude-3-5-sonnet-20241022', 9_000],
  ])('%s with %i tokens keeps at most a fifth for the answer, and the request leaves', async (model, window) => {
    const { plimsoll } = open({ window })
    const messages = [
      { role: 'system', content: words(3_000) },
      { role: 'user', content: words(1_500, 4) },
    ]
    const session = plimsoll.session({ id: 'a' })
    const turn = await session.prepare({ format: 'openai-chat', body: { model, messages } })
    expect(turn.verdict.kind).toBe('proceed')
    expect(turn.limit).toMatchObject({ window })
    expect(turn.limit.outputReserve).toBeLessThanOrEqual(window / 5)
    await plimsoll.close()
  })
})

describe('o4: a vendor that counts less than we do', () => {
  it('is not taken for a server that cuts prompts: the limit stays, and nobody is warned', async () => {
    const upstream = async (_: unknown, init?: { body?: unknown }): Promise<Response> => {
      const tokens = Math.ceil(String(init?.body).length / 3.5)
      const usage = { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 }
      const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'ok' } }]
      const answer = { id: 'x', object: 'chat.completion', created: 1, model: 'gpt-4o', choices, usage }
      return new Response(JSON.stringify(answer), { status: 200, headers: { 'content-type': 'application/json' } })
    }
    const { plimsoll, events } = open({ window: 20_000, fetch: upstream as typeof fetch })
    const limits: (string | null)[] = []
    for (const steps of [2, 12, 13]) {
      const response = await plimsoll.fetch('http://upstream.test/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer k', 'x-plimsoll-session': 's' },
        body: JSON.stringify({
          model: 'gpt-4o',
          tools: [tool('x')],
          max_tokens: 300,
          messages: [
            { role: 'user', content: 'task' },
            ...Array.from({ length: steps }, (_unused, n) => step(`k${n}`, 'x', { n }, words(3_000, n + 1))).flat(),
          ],
        }),
      })
      expect(response.status).toBe(200)
      limits.push(response.headers.get('x-plimsoll-limit'))
    }
    expect(limits).toEqual(['19300', '19300', '19300'])
    expect(events.filter((event) => event.type === 'warning')).toEqual([])
    await plimsoll.close()
  })
})
