import { describe, expect, it } from 'vitest'
import type { Policy, ToolBudgetRule } from '../../src/core/policy.ts'
import { memoryStore } from '../../src/drivers/sessions/memory.ts'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { resultText } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const FORMAT = 'anthropic-messages'
const WINDOW = 20_000
const targets = [{ model: 'claude-sonnet-4-5', window: WINDOW }]
const base = policyNamed('plimsoll', {})
const withBudget = (budget: ToolBudgetRule): Policy => ({ ...base, intake: { ...base.intake, budget } })
/** Four characters to a token, and four tokens for the item. */
const text = (n: number, tokens: number): string => resultText(n, tokens * 4)

interface Call {
  readonly tool: string
  readonly tokens: number
}

/** One task, then a step for each list: its calls side by side, then all their results. */
function history(steps: readonly (readonly Call[])[]) {
  const messages: { role: string; content: unknown }[] = [{ role: 'user', content: 'Go.' }]
  let n = 0
  for (const step of steps) {
    const ids = step.map(() => `toolu_${n++}`)
    messages.push({
      role: 'assistant',
      content: step.map(({ tool }, i) => ({ type: 'tool_use', id: ids[i], name: tool, input: { n: ids[i] } })),
    })
    messages.push({
      role: 'user',
      content: step.map(({ tokens }, i) => ({
        type: 'tool_result',
        tool_use_id: ids[i],
        content: text(Number(ids[i]!.slice(6)) + 1, tokens),
      })),
    })
  }
  const tools = ['bash', 'read', 'web'].map((name) => ({ name, description: name, input_schema: { type: 'object' } }))
  return { format: FORMAT, targets, body: { model: 'claude-sonnet-4-5', max_tokens: 512, tools, messages } }
}

const resultsIn = (body: string): string[] =>
  (JSON.parse(body) as { messages: { content: unknown }[] }).messages.flatMap(({ content }) =>
    Array.isArray(content)
      ? (content as { type: string; content?: string }[]).flatMap((block) =>
          block.type === 'tool_result' ? [block.content ?? ''] : [],
        )
      : [],
  )
const bash = (tokens: number): Call => ({ tool: 'bash', tokens })
const tokensOf = (shown: string): number => Math.ceil(shown.length / 4)

describe('the verb', () => {
  it('goes from preview to handle to a refusal that says why, and keeps every byte', async () => {
    const { session, deps } = testEngine({ policy: withBudget({ tools: { bash: { turnTokens: 700 } } }) })
    const agent = session()
    const outputs = [1, 2, 3, 4].map((n) => text(n, 600))
    const shown = []
    for (const output of outputs) shown.push(await agent.toolResult({ tool: 'bash', output, window: WINDOW }))
    const more = await agent.toolResult({ tool: 'bash', output: text(5, 600), window: WINDOW })
    expect([...shown, more].map(({ report }) => report.step)).toEqual(['full', 'handle', 'handle', 'handle', 'refusal'])
    expect(more.text).toMatch(
      /^The result of bash \(600 tokens\) is not shown: bash may show 700 tokens per turn, \d+ are used\. The whole result is kept: art_\w{26}\./,
    )
    for (const [i, { artifact }] of shown.entries())
      if (artifact !== undefined)
        expect(Buffer.from((await deps.artifacts.read('local', artifact))!).toString()).toBe(outputs[i])
    // Another tool has its own.
    expect((await agent.toolResult({ tool: 'read', output: outputs[0]!, window: WINDOW })).report.step).toBe('full')
    expect(await agent.canExecute('bash')).toMatchObject({
      ok: false,
      refusal: expect.stringMatching(/^bash was not run: bash may show 700 tokens per turn/) as string,
    })
    expect(await agent.canExecute('read')).toEqual({ ok: true })
  })

  it('shares a batch fairly: small results stay whole, large ones get equal parts', async () => {
    const agent = testEngine({ policy: withBudget({ turnTokens: 2_100 }) }).session()
    const sizes = [1_500, 100, 1_500, 1_500]
    const shown = await Promise.all(
      sizes.map((size, n) => agent.toolResult({ tool: 'bash', output: text(n + 1, size), window: WINDOW })),
    )
    expect(shown.map(({ report }) => report.step)).toEqual(['preview', 'full', 'preview', 'preview'])
    const large = shown.filter(({ truncated }) => truncated).map(({ report }) => report.shownTokens)
    expect(Math.max(...large)).toBeLessThanOrEqual(Math.floor(2_000 / 3))
    expect(Math.min(...large)).toBeGreaterThan(300)
    expect(shown.reduce((sum, { report }) => sum + report.shownTokens, 0)).toBeLessThanOrEqual(2_100)
  })

  it('never spends the same tokens twice, however the calls overlap', async () => {
    const agent = testEngine({ policy: withBudget({ turnTokens: 1_000 }) }).session()
    const calls = []
    for (let n = 1; n <= 6; n++) {
      calls.push(agent.toolResult({ tool: 'bash', output: text(n, 300), window: WINDOW }))
      await Promise.resolve()
      await Promise.resolve()
    }
    const shown = await Promise.all(calls)
    const whole = shown.filter(({ truncated }) => !truncated)
    expect(whole.length).toBeLessThanOrEqual(3)
    const spent = shown.filter(({ report }) => report.step !== 'refusal')
    expect(spent.reduce((sum, { report }) => sum + report.shownTokens, 0)).toBeLessThanOrEqual(1_000)
  })

  it('begins a new turn with each request; what a session may show goes on', async () => {
    const policy = withBudget({ turnTokens: 700, tools: { read: { sessionTokens: 900 } } })
    const agent = testEngine({ policy }).session()
    const show = (tool: string, n: number) => agent.toolResult({ tool, output: text(n, 600) })
    await agent.prepare(history([]))
    expect((await show('bash', 1)).report.step).toBe('full')
    expect((await show('bash', 2)).report.step).not.toBe('full')
    await agent.prepare(history([[{ tool: 'read', tokens: 600 }]]))
    expect((await show('bash', 3)).report.step).toBe('full')
    await agent.prepare(history([[{ tool: 'read', tokens: 600 }], [bash(600)]]))
    const late = await show('read', 4)
    expect(late.report.step).not.toBe('full')
    expect(late.report.audit?.reason).toMatch(/^read may show 900 tokens per session, \d+ are used$/)
  })

  it('lets one failing store call fail one result only', async () => {
    const { deps, session } = testEngine()
    const put = deps.artifacts.put.bind(deps.artifacts)
    Object.assign(deps.artifacts, {
      put: async (...args: Parameters<typeof put>) => {
        if (args[2]?.tool === 'web') throw new Error('no room on this disk')
        return put(...args)
      },
    })
    const agent = session()
    const [web, read] = await Promise.allSettled([
      agent.toolResult({ tool: 'web', output: text(1, 9_000) }),
      agent.toolResult({ tool: 'read', output: text(2, 9_000) }),
    ])
    expect(web).toMatchObject({ status: 'rejected', reason: { message: 'no room on this disk' } })
    expect(read).toMatchObject({ status: 'fulfilled', value: { truncated: true } })
  })
})

describe('requests that bring results', () => {
  it('share a step fairly, in three quarters of the limit by default', async () => {
    const prepared = (...steps: Call[][]) => testEngine().session().prepare(history(steps))
    const turn = await prepared([bash(4_500), bash(200), bash(4_500), bash(4_500), bash(4_500)])
    const shown = resultsIn(turn.text)
    expect(shown[1]).toBe(text(2, 200))
    const large = [0, 2, 3, 4].map((i) => tokensOf(shown[i]!))
    // Each gets nearly all of an equal part.
    const part = (turn.limit.tokens * 0.75 - 204) / 4
    for (const tokens of large) {
      expect(tokens).toBeLessThanOrEqual(part)
      expect(tokens).toBeGreaterThan(part * 0.8)
    }
    // Two of them alone would have been whole; so would four of them one after another.
    expect((await prepared([bash(4_500), bash(4_500)])).report.untouched).toBe(true)
    const four = await prepared([bash(3_000)], [bash(3_000)], [bash(3_000)], [bash(3_000)])
    expect(four.report.shortened).toEqual([])
  })

  it('hold the limits of single tools per turn and per session', async () => {
    const policy = withBudget({ tools: { bash: { turnTokens: 1_000, sessionTokens: 1_500 } } })
    const { session, deps } = testEngine({ policy })
    const turn = await session().prepare(
      history([[bash(800), { tool: 'read', tokens: 2_000 }, bash(800)], [bash(800)], [bash(300)]]),
    )
    const shown = resultsIn(turn.text)
    const own = [shown[0]!, shown[2]!, shown[3]!, shown[4]!].map(tokensOf)
    expect(own[0]! + own[1]!).toBeLessThanOrEqual(1_000)
    expect(shown[1]).toBe(text(2, 2_000))
    expect(shown[4]).toMatch(/bash may show 1,500 tokens per session|There is no room to show it/)
    for (const { handle } of turn.report.shortened)
      expect(await deps.artifacts.stat('local', handle)).toMatchObject({ tool: 'bash', contentKind: 'code' })
  })

  it('give the same bytes from the same transcript: step by step, at once, in another process', async () => {
    const policy = withBudget({ turnShare: 0.4, sessionTokens: 9_000, tools: { web: { turnTokens: 500 } } })
    const steps = [
      [bash(3_000), { tool: 'web', tokens: 900 }, bash(2_000)],
      [bash(2_500), bash(2_500), bash(2_500)],
      [{ tool: 'web', tokens: 700 }],
      [bash(4_000)],
    ]
    const sessions = memoryStore()
    let last = ''
    for (let n = 1; n <= steps.length; n++) {
      // A new process for each request.
      const turn = await testEngine({ policy, sessions })
        .session()
        .prepare(history(steps.slice(0, n)))
      expect(resultsIn(turn.text).slice(0, resultsIn(last === '' ? '{"messages":[]}' : last).length)).toEqual(
        last === '' ? [] : resultsIn(last),
      )
      last = turn.text
    }
    const atOnce = await testEngine({ policy }).session().prepare(history(steps))
    expect(atOnce.text).toBe(last)
    expect(atOnce.report.shortened.length).toBeGreaterThan(3)
    const again = await testEngine({ policy, sessions }).session('other').prepare(history(steps))
    expect(again.text).toBe(last)
  })

  it('leave alone what was sent whole before the limits changed', async () => {
    const sessions = memoryStore()
    const first = await testEngine({ sessions })
      .session()
      .prepare(history([[bash(2_000), bash(2_000)]]))
    const policy = withBudget({ turnTokens: 500 })
    const second = await testEngine({ sessions, policy })
      .session()
      .prepare(history([[bash(2_000), bash(2_000)], [bash(800)]]))
    expect(resultsIn(second.text).slice(0, 2)).toEqual(resultsIn(first.text))
    expect(second.report.shortened).toHaveLength(1)
  })
})
