import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { call, createReferee, think, type Referee } from '../../src/testing/referee/index.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const NATIVE: Policy = {
  ...policyNamed('plimsoll'),
  name: 'native',
  native: { compactAt: 0.4, clearToolUsesAt: 0.3, keepThinkingTurns: 2 },
}
const WINDOW = 200_000

/** A provider that counts a character as a token: its compaction starts while the engine sees a quarter of its limit. */
const provider = (wire: 'anthropic-messages' | 'openai-responses'): Referee =>
  createReferee({
    wire,
    window: 1_000_000,
    tokenizer: (text) => text.length,
    script: ({ number }) => think(`thought ${number}`, call('read', { path: `f${number}` })),
  })

const agentFor = (policy: Policy) => {
  const engine = testEngine({ policy })
  const deps = { ...engine.deps, catalogue: bundledCatalogue() }
  return { ...engine, agent: createSession(async () => deps, { id: 's' }) }
}

type Entry = Record<string, unknown>

async function anthropicRun(steps: number, model: string, policy: Policy = NATIVE, extra: object = {}) {
  const referee = provider('anthropic-messages')
  const { agent, events } = agentFor(policy)
  const messages: Entry[] = [{ role: 'user', content: 'Read everything.' }]
  const bodyOf = () => ({
    model,
    max_tokens: 2_000,
    thinking: { type: 'adaptive' },
    tools: [{ name: 'read', input_schema: { type: 'object' } }],
    messages,
    ...extra,
  })
  const send = async () => {
    const turn = await agent.prepare({
      format: 'anthropic-messages',
      body: bodyOf(),
      targets: [{ model, window: WINDOW }],
    })
    const response = await referee.fetch('http://referee.test/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', ...turn.headers },
      body: turn.text,
    })
    return { turn, answer: (await response.json()) as { content?: Entry[]; error?: unknown } }
  }
  for (let step = 1; step <= steps; step++) {
    const { answer } = await send()
    expect(answer.error).toBeUndefined()
    messages.push({ role: 'assistant', content: answer.content })
    const id = answer.content!.find(({ type }) => type === 'tool_use')!['id']
    messages.push({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: id, content: resultText(step, 4_000) }],
    })
  }
  return { referee, agent, events, messages, bodyOf, send }
}

describe('the provider’s own management on Anthropic', () => {
  it('is asked for with numbers of the limit and the betas that it needs, once and the same in every request', async () => {
    const { referee } = await anthropicRun(3, 'claude-opus-4-6')
    const asked = referee.log.map(({ body }) => JSON.stringify((body as Entry)['context_management']))
    expect(new Set(asked).size).toBe(1)
    const { edits } = JSON.parse(asked[0]!) as { edits: Entry[] }
    expect(edits.map(({ type }) => type)).toEqual([
      'clear_thinking_20251015',
      'clear_tool_uses_20250919',
      'compact_20260112',
    ])
    expect(edits[2]).toMatchObject({ trigger: { type: 'input_tokens', value: 77_600 } })
    expect(referee.log[0]!.headers['anthropic-beta']).toBe('compact-2026-01-12,context-management-2025-06-27')
  })

  it.each(['claude-opus-4-6', 'claude-fable-5-1'])(
    'gives a compaction that passes sealed, stays in every epoch, and after which what it stands for is not sent (%s)',
    async (model) => {
      const { referee, agent, bodyOf, send, messages } = await anthropicRun(24, model)
      const compactions = messages.flatMap(({ content }) =>
        Array.isArray(content) ? (content as Entry[]).filter(({ type }) => type === 'compaction') : [],
      )
      expect(compactions.length).toBeGreaterThan(0)
      expect(referee.log.flatMap(({ violations }) => violations)).toEqual([])
      const newest = JSON.stringify(compactions.at(-1))
      const done = await agent.compact({
        request: { format: 'anthropic-messages', body: bodyOf(), targets: [{ model, window: WINDOW }] },
      })
      expect(done).toMatchObject({ status: 'done' })
      const { turn, answer } = await send()
      expect(answer.error).toBeUndefined()
      expect(turn.text).toContain(newest)
      const { items } = codecOf('anthropic-messages').decode(turn.text)
      const at = items.findIndex(({ standsForPrefix }) => standsForPrefix === true)
      // Before it only the task; a record of ours, if any, behind it, where it is read.
      expect(items.slice(0, at).map(({ text }) => text)).toEqual(['Read everything.'])
      expect(items.filter(({ message }, i) => message < 0 && i < at)).toEqual([])
    },
  )

  it('leaves a client alone that manages its own context', async () => {
    const own = { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } }
    const { referee } = await anthropicRun(1, 'claude-opus-4-6', NATIVE, own)
    expect((referee.log[0]!.body as Entry)['context_management']).toEqual(own.context_management)
  })

  it('is not asked for by a policy without the step', async () => {
    const { referee } = await anthropicRun(1, 'claude-opus-4-6', policyNamed('plimsoll'))
    expect(referee.log[0]!.body).not.toHaveProperty('context_management')
  })

  it('is refused without its beta', async () => {
    const referee = provider('anthropic-messages')
    const response = await referee.fetch('http://referee.test/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({
        model: 'claude-opus-4-6',
        max_tokens: 10,
        context_management: { edits: [{ type: 'compact_20260112' }] },
        messages: [{ role: 'user', content: 'Hi' }],
      }),
    })
    expect(response.status).toBe(400)
    expect(response.headers.get('x-referee-rule')).toBe('context-management-beta')
  })
})

describe('the provider’s own compaction on Responses', () => {
  it('is asked for, passes sealed, and what it stands for leaves with the next epoch', async () => {
    const referee = provider('openai-responses')
    const { agent } = agentFor(NATIVE)
    const model = 'gpt-5.2'
    const input: Entry[] = [{ role: 'user', content: 'Read everything.' }]
    const bodyOf = () => ({
      model,
      input,
      store: false,
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'function', name: 'read', parameters: { type: 'object' }, strict: false }],
    })
    const request = () => ({ format: 'openai-responses', body: bodyOf(), targets: [{ model, window: WINDOW }] })
    const send = async () => {
      const turn = await agent.prepare(request())
      const response = await referee.fetch('http://referee.test/v1/responses', {
        method: 'POST',
        headers: { authorization: 'Bearer k' },
        body: turn.text,
      })
      return { turn, answer: (await response.json()) as { output?: Entry[]; error?: unknown } }
    }
    for (let step = 1; step <= 26; step++) {
      const { answer } = await send()
      expect(answer.error).toBeNull()
      input.push(...answer.output!)
      const { call_id } = answer.output!.find(({ type }) => type === 'function_call')!
      input.push({ type: 'function_call_output', call_id, output: resultText(step, 4_000) })
    }
    const compactions = input.filter(({ type }) => type === 'compaction')
    expect(compactions.length).toBeGreaterThan(0)
    expect(await agent.compact({ request: request() })).toMatchObject({ status: 'done' })
    const { turn, answer } = await send()
    expect(answer.error).toBeNull()
    expect(turn.text).toContain(JSON.stringify(compactions.at(-1)))
    const { items } = codecOf('openai-responses').decode(turn.text)
    const at = items.findIndex(({ standsForPrefix }) => standsForPrefix === true)
    expect(items.slice(0, at).map(({ text }) => text)).toEqual(['Read everything.'])
  })
})
