import { describe, expect, it } from 'vitest'
import { createSession } from '../../src/engine/session/session.ts'
import { anthropicMessages } from '../../src/formats/anthropic-messages/wire.ts'
import { call, createReferee } from '../../src/testing/referee/index.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const MODEL = 'claude-sonnet-4-5'
const place = anthropicMessages.placeCacheMarks!
const marksIn = (text: string): number => text.split('"cache_control"').length - 1

function marked(cacheMarks = true) {
  const engine = testEngine()
  return { ...engine, agent: createSession(async () => ({ ...engine.deps, cacheMarks }), { id: 'test' }) }
}
const request = (body: object, window = 8_000) => ({
  format: 'anthropic-messages',
  body,
  targets: [{ model: MODEL, window }],
})

/** A session in which each step calls `width` tools at once. */
function parallel(steps: number, width: number, system: unknown): Record<string, unknown> {
  const messages: unknown[] = [{ role: 'user', content: 'Read everything.' }]
  for (let step = 1; step <= steps; step++) {
    const ids = Array.from({ length: width }, (_, n) => `toolu_${step}_${n}`)
    messages.push(
      { role: 'assistant', content: ids.map((id) => ({ type: 'tool_use', id, name: 'read', input: { id } })) },
      {
        role: 'user',
        content: ids.map((id, n) => ({ type: 'tool_result', tool_use_id: id, content: resultText(step + n, 120) })),
      },
    )
  }
  return {
    model: MODEL,
    max_tokens: 256,
    system,
    tools: [{ name: 'read', input_schema: { type: 'object' } }],
    messages,
  }
}

describe('cache marks', () => {
  it.each([
    ['instructions as text', 'You are careful.'],
    ['instructions as blocks', [{ type: 'text', text: 'You are careful.' }]],
    ['no instructions', undefined],
  ])('are at most four, the last on the newest block, for 1 to 8 results at once: %s', (_, system) => {
    for (let width = 1; width <= 8; width++) {
      for (let steps = 0; steps <= 6; steps++) {
        const text = place(JSON.stringify(parallel(steps, width, system)), steps > 3 ? { summaryMessage: 2 } : {})!
        expect(marksIn(text)).toBeLessThanOrEqual(4)
        const body = JSON.parse(text) as { messages: { content: unknown[] }[] }
        expect(anthropicMessages.check(body)).toEqual([])
        expect(body.messages.at(-1)!.content.at(-1)).toHaveProperty('cache_control', { type: 'ephemeral' })
      }
    }
  })

  it('are never set beside those of the client', () => {
    const body = parallel(2, 2, [
      { type: 'text', text: 'Be careful.', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ])
    expect(place(JSON.stringify(body))).toBeUndefined()
  })

  it('change nothing but the marks', () => {
    const body = parallel(3, 2, 'You are careful.')
    const without = JSON.parse(place(JSON.stringify(body))!, (key, value: unknown) =>
      key === 'cache_control' ? undefined : value,
    ) as Record<string, unknown>
    expect(without).toEqual({ ...body, system: [{ type: 'text', text: 'You are careful.' }] })
  })

  it('are not put on thinking or empty text', () => {
    const thought = { type: 'thinking', thinking: 'hm', signature: 's' }
    const body = {
      model: MODEL,
      max_tokens: 10,
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: [thought, { type: 'text', text: 'Hello' }, thought] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'More' },
            { type: 'text', text: '' },
          ],
        },
      ],
    }
    const text = place(JSON.stringify(body))!
    expect(text).toContain('{"type":"text","text":"More","cache_control":{"type":"ephemeral"}}')
    expect(text).not.toMatch(/"signature":"s","cache_control"/)
  })
})

describe('a session whose client sets no marks', () => {
  async function run(cacheMarks: boolean) {
    const referee = createReferee({
      wire: 'anthropic-messages',
      window: 100_000,
      script: (turn) => call('read', { path: `f${turn.number}` }),
      seed: 1,
    })
    const { agent, events } = marked(cacheMarks)
    for (let steps = 1; steps <= 90; steps++) {
      const body = { ...toolLoop({ steps, resultLength: 2_000 }), system: 'You are careful. '.repeat(400) }
      const turn = await agent.prepare(request(body, 24_000))
      expect(marksIn(turn.text)).toBeLessThanOrEqual(4)
      const response = await referee.handle({
        method: 'POST',
        path: '/v1/messages',
        headers: { 'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
        body: Buffer.from(turn.text),
      })
      for await (const _ of response.body);
      expect(response.status).toBe(200)
    }
    const epochs = events.filter((event) => event.type === 'epoch-declared').length
    return { ...referee.summary(), epochs }
  }

  it('reads most of its prompts from the cache, also after epochs', async () => {
    const plain = await run(false)
    const cached = await run(true)
    expect(plain.cacheRead).toBe(0)
    expect(cached.epochs).toBeGreaterThan(1)
    expect(cached.cacheRead / cached.inputTokens).toBeGreaterThan(0.8)
  })

  it('gets none on a single question without tools, and none unless asked for', async () => {
    const question = { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Why?' }] }
    expect((await marked().agent.prepare(request(question))).report.untouched).toBe(true)
    expect((await marked(false).agent.prepare(request(toolLoop({ steps: 3 })))).report.untouched).toBe(true)
  })

  it('has its marks beside the summary of an epoch', async () => {
    const { agent } = marked()
    const turn = await agent.prepare(request(toolLoop({ steps: 70 })))
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.text).toMatch(/End of the condensed record\.\]","cache_control":\{"type":"ephemeral"\}/)
    expect(anthropicMessages.check(JSON.parse(turn.text))).toEqual([])
  })
})
