import { describe, expect, it } from 'vitest'
import type { AfterEpochInfo, BeforeEpochInfo, Hooks, ToolResultInfo, VerdictInfo } from '../../src/engine/hooks.ts'
import { createSession } from '../../src/engine/session/session.ts'
import { highWater } from '../../src/engine/epoch/thresholds.ts'
import { resultText, toolLoop } from '../support/anthropic-loop.ts'
import { testEngine } from '../support/engine.ts'

const request = (steps: number, window = 8_000, length = 400) => ({
  format: 'anthropic-messages',
  body: toolLoop({ steps, resultLength: length }),
  targets: [{ model: 'claude-sonnet-4-5', window }],
})

function withHooks(hooks: Hooks) {
  const engine = testEngine()
  const deps = { ...engine.deps, hooks }
  const session = (id = 'test', agent = 'main') => createSession(async () => deps, { id, agent })
  return { ...engine, session, agent: session() }
}

const warnings = ({ events }: Pick<ReturnType<typeof testEngine>, 'events'>): string[] =>
  events.flatMap((event) => (event.type === 'warning' && event.topic === 'hooks' ? [event.message] : []))

describe('epoch hooks', () => {
  it('are called once before and once after each epoch, whatever caused it', async () => {
    const before: BeforeEpochInfo[] = []
    const after: AfterEpochInfo[] = []
    const engine = withHooks({
      beforeEpoch: (info) => void before.push(info),
      afterEpoch: (info) => void after.push(info),
    })
    // A person asks; high water; a switch to a smaller model; a sub-agent that starts too large.
    await engine.agent.prepare(request(32))
    await engine.agent.compact()
    await engine.agent.prepare(request(33))
    for (let steps = 34; steps <= 80; steps++) await engine.agent.prepare(request(steps))
    await engine.agent.prepare(request(81, 4_000))
    await engine.session('test', 'sub').prepare(request(90, 6_000, 420))
    const declared = engine.events.filter((event) => event.type === 'epoch-declared')
    expect(new Set(before.map(({ cause }) => cause))).toEqual(new Set(['requested', 'high-water', 'overflow']))
    expect(after.map(({ epoch }) => epoch)).toEqual(declared.map(({ epoch }) => epoch))
    expect(before).toHaveLength(after.length)
    expect(before.map(({ agent }) => agent)).toContain('sub')
    for (const [i, info] of after.entries()) {
      expect(info.after).toBeLessThan(info.before)
      expect(info.before).toBe(before[i]!.load)
      expect(before[i]!.items.length).toBeGreaterThan(0)
    }
  })

  it('keep what they preserve in view', async () => {
    const text = JSON.stringify(resultText(3, 400)).slice(1, -1)
    const plain = withHooks({})
    const kept = withHooks({
      // The third result: task, then assistant text, call and result for each step.
      beforeEpoch: ({ items }) => ({ preserve: [items[9]!.identity] }),
    })
    for (const { agent } of [plain, kept]) for (let steps = 1; steps <= 60; steps++) await agent.prepare(request(steps))
    expect((await plain.agent.prepare(request(61))).text).not.toContain(text)
    const turn = await kept.agent.prepare(request(61))
    expect(turn.epoch).toBeDefined()
    expect(turn.text).toContain(text)
    expect(warnings(kept)).toEqual([])
  })

  it('cannot preserve everything: the request still fits', async () => {
    const engine = withHooks({ beforeEpoch: ({ items }) => ({ preserve: items.map(({ identity }) => identity) }) })
    const turn = await engine.agent.prepare(request(90))
    expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
    expect(warnings(engine)[0]).toMatch(/unknown or too large to preserve/)
  })

  it('may put off an epoch that nothing forces, and no other', async () => {
    const causes: string[] = []
    const engine = withHooks({
      beforeEpoch({ cause }) {
        causes.push(cause)
        return { defer: true }
      },
    })
    let declared
    for (let steps = 30; declared === undefined; steps++) {
      const turn = await engine.agent.prepare(request(steps))
      expect(turn.load.count.high).toBeLessThanOrEqual(turn.limit.tokens)
      declared = engine.events.find((event) => event.type === 'epoch-declared')
    }
    expect(causes[0]).toBe('high-water')
    expect(causes.at(-1)).toBe('overflow')
    expect(declared.forced).toBe(true)
  })
})

describe('a hook that misbehaves', () => {
  it.each<[string, Hooks, RegExp]>([
    [
      'throws',
      {
        beforeEpoch() {
          throw new Error('no')
        },
      },
      /beforeEpoch failed: no/,
    ],
    ['rejects', { afterEpoch: () => Promise.reject(new Error('never')) }, /afterEpoch failed: never/],
    ['hangs', { timeoutMs: 5, beforeEpoch: () => new Promise(() => undefined) }, /beforeEpoch took longer than 5 ms/],
    ['hangs at a verdict', { timeoutMs: 5, onVerdict: () => new Promise(() => undefined) }, /onVerdict took longer/],
  ])('%s: costs a warning and nothing else', async (_, hooks, message) => {
    const engine = withHooks(hooks)
    const turn = await engine.agent.prepare(request(60))
    expect(turn.text === (await withHooks({}).agent.prepare(request(60))).text).toBe(true)
    expect(warnings(engine)[0]).toMatch(message)
  })

  it('changes nothing by writing into what it is given', async () => {
    const engine = withHooks({
      onVerdict(info: VerdictInfo) {
        Object.assign(info.verdict, { kind: 'halt', limit: 1 })
      },
    })
    const turn = await engine.agent.prepare(request(3))
    expect(turn.verdict.kind).toBe('proceed')
  })
})

describe('result hooks', () => {
  it('see every result, and add a bounded note below it', async () => {
    const seen: ToolResultInfo[] = []
    const engine = withHooks({
      afterToolResult(info) {
        seen.push(info)
        return { note: '🙂'.repeat(3_000) }
      },
    })
    const small = await engine.agent.toolResult({ tool: 'bash', callId: 'c1', output: 'done' })
    expect(small.text).toBe(`done\n\n${'🙂'.repeat(2_000)}`)
    const large = await engine.agent.toolResult({ tool: 'bash', callId: 'c2', output: resultText(1, 90_000) })
    expect(large.truncated).toBe(true)
    expect(seen[1]).toMatchObject({ via: 'tool-result', tool: 'bash', handle: large.artifact, originalBytes: 90_000 })
  })

  it('see the results that a request brings and that are shortened in it', async () => {
    const seen: ToolResultInfo[] = []
    const { agent } = withHooks({ afterToolResult: (info) => void seen.push(info) })
    const turn = await agent.prepare(request(1, 8_000, 60_000))
    expect(seen).toEqual([
      expect.objectContaining({ via: 'first-send', callId: 'toolu_1', truncated: true, originalBytes: 60_000 }),
    ])
    expect(turn.text).toContain(seen[0]!.handle)
  })
})

describe('compaction-needed', () => {
  it('comes exactly when the load passes the threshold, once for each time', async () => {
    const engine = testEngine()
    const agent = engine.session()
    let events = 0
    let wasHigh = false
    for (let steps = 1; steps <= 120; steps++) {
      const turn = await agent.prepare(request(steps))
      const threshold = highWater(engine.deps.policy, turn.limit)
      const needed = engine.events.filter((event) => event.type === 'compaction-needed')
      const isHigh = turn.report.loadBefore > threshold
      if (isHigh && !wasHigh) {
        events++
        expect(needed.at(-1)).toMatchObject({ load: turn.report.loadBefore, threshold })
      }
      wasHigh = isHigh
      expect(needed).toHaveLength(events)
    }
    expect(events).toBeGreaterThan(1)
  })
})
