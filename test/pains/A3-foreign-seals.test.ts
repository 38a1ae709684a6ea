import { describe, expect, it } from 'vitest'
import { call, createReferee, say, think, type Referee } from '../../src/testing/referee/index.ts'
import { testEngine } from '../support/engine.ts'
import { ANTHROPIC } from './support/loop.ts'

const MODEL = 'claude-opus-4-6'

const provider = (issuer: string): Referee =>
  createReferee({
    wire: 'anthropic-messages',
    issuer,
    // Ids of their own, as two providers have.
    seed: issuer.length,
    script: ({ number }) =>
      number % 4 === 0 ? think(`${issuer} ${number}`, say('Said.')) : think(`${issuer} ${number}`, call('read', {})),
  })

describe('A3: what one provider sealed', () => {
  it('is not shown to another one, and goes back to its issuer unchanged', async () => {
    const providers = { first: provider('first'), second: provider('second') }
    const { session, deps } = testEngine()
    const agent = session()
    const messages: { role: string; content: unknown }[] = [{ role: 'user', content: 'Read.' }]
    const turns = ['first', 'first', 'first', 'first', 'second', 'second', 'first', 'second', 'first'] as const
    for (const name of turns) {
      const body = {
        model: MODEL,
        max_tokens: 256,
        thinking: { type: 'adaptive' },
        tools: [{ name: 'read', input_schema: { type: 'object' } }],
        messages,
      }
      const turn = await agent.prepare({
        format: ANTHROPIC,
        body,
        targets: [{ model: MODEL, endpoint: `https://${name}.test`, window: 50_000 }],
      })
      const response = await providers[name].fetch('http://referee.test/v1/messages', {
        method: 'POST',
        headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', ...turn.headers },
        body: turn.text,
      })
      const answer = (await response.json()) as { content: { type: string; id?: string }[]; error?: unknown }
      expect(answer.error).toBeUndefined()
      const other = name === 'first' ? 'second' : 'first'
      expect(turn.text).not.toContain(`"thinking":"${other} `)
      await agent.record({ turn: turn.id, format: ANTHROPIC, response: answer })
      messages.push({ role: 'assistant', content: answer.content })
      const used = answer.content.filter(({ type }) => type === 'tool_use')
      messages.push({
        role: 'user',
        content:
          used.length === 0
            ? 'Go on.'
            : used.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'text' })),
      })
    }
    // Its own thoughts went back to the first one, those of its first turns too.
    const last = JSON.stringify(providers.first.log.at(-1)!.body)
    expect(last).toContain('"thinking":"first 1"')
    // Another process knows the same from the log.
    const fresh = testEngine({ sessions: deps.sessions }).session()
    const body = { model: MODEL, max_tokens: 256, thinking: { type: 'adaptive' }, messages }
    const targets = [{ model: MODEL, endpoint: 'https://second.test', window: 50_000 }]
    expect((await fresh.prepare({ format: ANTHROPIC, body, targets })).text).not.toContain('"thinking":"first ')
  })
})
