import { describe, expect, it } from 'vitest'
import type { Policy } from '../../src/core/policy.ts'
import { epochEditsOf, planOfEpoch } from '../../src/core/epochs.ts'
import { bundledCatalogue } from '../../src/drivers/catalogue/bundled.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { call, createReferee, say, think, type Script } from '../../src/testing/referee/index.ts'
import { codecOf } from '../../src/formats/registry.ts'
import { testEngine } from '../support/engine.ts'

const STRIP: Policy = {
  ...policyNamed('plimsoll'),
  name: 'strip',
  priceGate: false,
  water: { ...policyNamed('plimsoll').water, high: 0.6 },
  cascade: [{ step: 'strip-reasoning' }, ...policyNamed('plimsoll').cascade],
}

const THOUGHT = 'I weigh what this file tells me about the parser. '.repeat(12)
const script: Script = (turn) =>
  turn.number % 5 === 0
    ? think(`${THOUGHT}${turn.number}`, say(`Found ${turn.number}.`))
    : think(`${THOUGHT}${turn.number}`, call('read', { path: `f${turn.number}` }))

type Block = { readonly type: string; readonly id?: string }

/** An agent whose provider seals what it thinks, and on some models binds it to its prefix. */
async function runAgent(model: string, thinking: object, steps: number) {
  const referee = createReferee({ wire: 'anthropic-messages', window: 100_000, script })
  const engine = testEngine({ policy: STRIP })
  const session = createSession(async () => ({ ...engine.deps, catalogue: bundledCatalogue() }), { id: 's' })
  const messages: { role: string; content: unknown }[] = [{ role: 'user', content: 'Read everything.' }]
  let text = ''
  for (let step = 1; step <= steps; step++) {
    const tools = [{ name: 'read', input_schema: { type: 'object' } }]
    const body = { model, max_tokens: 4_000, thinking, tools, messages }
    const turn = await session.prepare({ format: 'anthropic-messages', body, targets: [{ model, window: 9_000 }] })
    text = turn.text
    const response = await referee.fetch('http://referee.test/v1/messages', {
      method: 'POST',
      headers: { 'x-api-key': 'k', 'anthropic-version': '2023-06-01', ...turn.headers },
      body: text,
    })
    const answer = (await response.json()) as { content?: Block[]; error?: unknown }
    expect(answer.error).toBeUndefined()
    messages.push({ role: 'assistant', content: answer.content })
    const used = answer.content!.filter(({ type }) => type === 'tool_use')
    const results = used.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: `file of step ${step}` }))
    messages.push({ role: 'user', content: results.length === 0 ? `And part ${step}?` : results })
  }
  return { events: engine.events, text, referee }
}

describe.each([
  ['claude-opus-4-6', { type: 'adaptive' }],
  ['claude-sonnet-4-5', { type: 'enabled', budget_tokens: 1_024 }],
  ['claude-fable-5-1', { type: 'adaptive' }],
])('on %s', (model, thinking) => {
  it('reasoning of finished steps leaves first, what it led to stays, and nothing is refused', async () => {
    const { events, text, referee } = await runAgent(model, thinking, 30)
    expect(events.filter((event) => event.type === 'epoch-declared').length).toBeGreaterThan(0)
    expect(referee.log.every(({ violations }) => violations.length === 0)).toBe(true)
    const view = codecOf('anthropic-messages').decode(text)
    const thoughts = view.items.filter(({ kind }) => kind === 'reasoning').length
    const turns = view.items.filter(({ kind }) => kind === 'call').length
    expect(thoughts).toBeLessThan(turns)
    // Nothing had to be folded: thoughts alone made the room.
    expect(view.items.some(({ message }) => message < 0)).toBe(false)
    expect(text).toContain('file of step 1"')
  })
})

describe('on OpenAI chat', () => {
  it('leaves beside answers, and stays beside calls, where vendors want it back', async () => {
    const messages: object[] = [{ role: 'user', content: 'Read.' }]
    for (let step = 1; step <= 24; step++) {
      if (step % 2 === 0)
        messages.push(
          { role: 'assistant', content: `Said ${step}.`, reasoning_content: `aloud ${step} ${THOUGHT}` },
          { role: 'user', content: `Go on ${step}.` },
        )
      else {
        const id = `call_${step}`
        const tool_calls = [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }]
        messages.push(
          { role: 'assistant', content: null, reasoning_content: `tool ${step} ${THOUGHT}`, tool_calls },
          { role: 'tool', tool_call_id: id, content: 'text' },
        )
      }
    }
    const policy: Policy = { ...STRIP, cascade: [{ step: 'strip-reasoning' }] }
    const agent = testEngine({ policy }).session()
    const body = { model: 'deepseek-chat', messages }
    const turn = await agent.prepare({ format: 'openai-chat', body, targets: [{ model: 'm', window: 6_500 }] })
    expect(turn.report.newEpoch).toBeDefined()
    expect(turn.text).toContain('tool 1 ')
    expect(turn.text).not.toContain('aloud 2 ')
    // The newest answer keeps what it was thought with.
    expect(turn.text).toContain('aloud 24 ')
    expect(turn.text).toContain('Said 2.')
    expect(codecOf('openai-chat').check(JSON.parse(turn.text))).toEqual([])
  })
})

describe('on Responses', () => {
  it('nothing leaves: a call is refused without its reasoning', async () => {
    const input: object[] = [{ role: 'user', content: 'Read.' }]
    for (let step = 1; step <= 20; step++)
      input.push(
        {
          type: 'reasoning',
          id: `rs_${step}`,
          summary: [{ type: 'summary_text', text: THOUGHT }],
          encrypted_content: 'x',
        },
        { type: 'function_call', id: `fc_${step}`, call_id: `call_${step}`, name: 'read', arguments: '{}' },
        { type: 'function_call_output', call_id: `call_${step}`, output: 'text' },
      )
    const policy: Policy = { ...STRIP, cascade: [{ step: 'strip-reasoning' }] }
    const agent = testEngine({ policy }).session()
    const body = { model: 'gpt-5.1', input, store: false }
    const turn = await agent.prepare({ format: 'openai-responses', body, targets: [{ model: 'm', window: 5_800 }] })
    expect(turn.report.untouched).toBe(true)
  })
})

describe('an epoch that strips', () => {
  it('means the same after its way through a plan and back', async () => {
    const { deps } = testEngine()
    const messages = [1, 2, 3].flatMap((n) => [
      { role: 'user', content: `ask ${n}` },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: `thought ${n}`, signature: `s${n}` },
          { type: 'text', text: `answer ${n}` },
        ],
      },
    ])
    const text = JSON.stringify({ model: 'claude-opus-4-6', max_tokens: 10, messages })
    const { items } = codecOf('anthropic-messages').decode(text)
    const links = deps.memo.chain(items)
    const edits = [{ op: 'strip' as const, from: 1, to: 4, reason: 'old' }]
    const epoch = { id: 'e', count: links.length, edits }
    const plan = planOfEpoch(epoch, items, links)
    expect(plan.map((edit) => edit.op === 'drop' && items.find(({ id }) => id === edit.id)!.text)).toEqual([
      'thought 1',
      'thought 2',
    ])
    const back = epochEditsOf(plan, items, links)
    expect(planOfEpoch({ ...epoch, edits: back }, items, links)).toEqual(plan)
  })
})
