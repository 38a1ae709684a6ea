import { describe, expect, it } from 'vitest'
import { policyNamed } from '../../src/engine/presets/index.ts'
import { scenarios, simulate } from '../../src/lab/simulator/simulate.ts'
import { call, open, result, words, type ChatMessage } from './repros/chat.ts'

const ACCOUNT =
  'Work on OPS-4412 went on: tests in services/checkout were run with bash and still fail; the retry limit was raised.'
const TARGET = [{ model: 'gpt-4.1', window: 32_000 }]

/** A session of tool steps in which the user speaks three times. */
function history(steps: number): ChatMessage[] {
  const messages: ChatMessage[] = [
    { role: 'user', content: `TASK-ONE: fix checkout OPS-4412, never touch prod-db-7. ${words(1_200)}` },
  ]
  for (let i = 0; i < steps; i++) {
    if (i === 40 || i === 90)
      messages.push(
        { role: 'assistant', content: `Done with part ${i}.` },
        { role: 'user', content: `MIDWORD-${i}: the migration script is in tools, rename nothing. ${words(300, i)}` },
      )
    messages.push(
      call(`s${i}`, 'bash', { cmd: `go test ./services/checkout -run T${i}` }),
      result(`s${i}`, words(2_600, i + 1)),
    )
  }
  return messages
}

describe.each(['contextguard', 'contextguard-window', 'adk-code', 'cyber-autoagent'])('%s', (policy) => {
  it('keeps what the user said beside a model’s account', async () => {
    const { messages, events } = open({ policy, summarizer: async () => ACCOUNT })
    for (const steps of [60, 95, 120, 140]) {
      const { texts } = await messages({ messages: history(steps) }, TARGET)
      const view = texts.join('\n')
      expect(view).toContain('never touch prod-db-7')
      expect(view).toContain('MIDWORD-40: the migration script is in tools')
      if (steps > 90) expect(view).toContain('MIDWORD-90')
    }
    expect(events.filter(({ type }) => type === 'epoch-declared').length).toBeGreaterThan(0)
  })

  it.each([
    ['short', 'Bananas are yellow.'],
    ['long', 'Bananas are yellow and grow in warm countries where the sun shines. '.repeat(12)],
  ])('takes no account of something else: %s', async (_, account) => {
    const { messages, events } = open({ policy, summarizer: async () => account })
    const { texts } = await messages({ messages: history(60) }, TARGET)
    expect(texts.join('\n')).not.toContain('Bananas')
    expect(events.some(({ type }) => type === 'summary-rejected')).toBe(true)
  })

  it('says nothing of a model where a function writes the summaries', async () => {
    const budgets = [{ name: 'dollars', scope: 'session' as const, unit: 'usd' as const, hard: 5 }]
    const { messages, events } = open({ policy, budgets, summarizer: async () => ACCOUNT })
    const { texts } = await messages({ messages: history(60) }, TARGET)
    expect(texts.join('\n')).toContain(ACCOUNT)
    const warnings = events.filter((event) => event.type === 'warning' && /unpriced|unknown-model/.test(event.topic))
    expect(warnings).toEqual([])
  })
})

describe('contextguard without a model', () => {
  const contents = (count: number, length: number) =>
    Array.from({ length: count }, (_, i) => ({
      role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: `m${i} ${words(length, i + 1)}`,
    }))

  it.each([
    [8_000, 500, 20],
    [32_000, 800, 61],
  ])(
    'shows the first 200 bytes of each message while there is room, in a window of %i',
    async (window, length, least) => {
      const { messages } = open({ policy: 'contextguard' })
      const { texts } = await messages({ messages: contents(61, length) }, [{ model: 'zz', window }])
      const excerpts = texts.join('\n').match(/^(?:user|assistant): m\d+ .*$/gm) ?? []
      expect(excerpts.length).toBeGreaterThanOrEqual(least)
      expect(excerpts.every((line) => Buffer.byteLength(line) <= 220)).toBe(true)
    },
  )
})

describe('adk-code', () => {
  const reads = (files: number): ChatMessage[] => [
    { role: 'user', content: 'Fix it.' },
    ...Array.from({ length: files }, (_, i) => [
      call(`w${i}`, 'read_file', { path: `src/q/f${i}.ts` }),
      result(`w${i}`, words(1_800, i + 1)),
    ]).flat(),
  ]

  it.each([40, 110, 210])('counts the files that its list leaves out, of %i', async (files) => {
    const { messages } = open({ policy: 'adk-code' })
    const { texts } = await messages({ messages: reads(files) }, [{ model: 'gpt-4.1', window: 16_000 }])
    const text = texts.join('\n')
    const listed = text.match(/^src\/q\/f\d+\.ts read 1×$/gm)!.length
    const [, left = '0'] = /\((\d+) older ones left out\)/.exec(text) ?? []
    const [, told] = /(\d+) tool calls were made/.exec(text)!
    expect(listed + Number(left)).toBe(Number(told))
  })

  it('writes its summary beside the requests, and takes it at 70 % of the window', async () => {
    const { plimsoll, events } = open({
      policy: 'adk-code',
      summarizer: async () => 'The user wants src/q fixed: files f0.ts to f9.ts were read.',
    })
    const session = plimsoll.session({ id: 's' })
    const window = 32_000
    let at = 0
    for (let files = 10; at === 0 && files < 80; files++) {
      const body = { model: 'gpt-4.1', messages: reads(files) }
      const turn = await session.prepare({ format: 'openai-chat', body, targets: [{ model: 'gpt-4.1', window }] })
      await session.record({
        turn: turn.id,
        usage: { input: Math.round(turn.load.count.tokens), cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0 },
      })
      if (turn.report.newEpoch !== undefined) at = turn.report.loadOriginal
    }
    expect(at).toBeGreaterThan(0.7 * window)
    // The model was asked before the request that needed it.
    const asked = events.findIndex((event) => event.type === 'usage-missing' && event.purpose === 'summary')
    const declared = events.findIndex((event) => event.type === 'epoch-declared')
    expect(asked).toBeGreaterThan(-1)
    expect(events.slice(asked, declared).some(({ type }) => type === 'request-prepared')).toBe(true)
    await plimsoll.close()
  })
})

describe('cyber-autoagent', () => {
  /** Prose, of which the design's count is higher than ours: no compaction comes before the warning. */
  const scans = (count: number): ChatMessage[] => [
    { role: 'user', content: 'Assess example.com' },
    ...Array.from({ length: count }, (_, i) => [
      call(`t${i}`, 'shell', { cmd: `scan ${i}` }),
      result(
        `t${i}`,
        `Scan ${i + 1}: ${'the service on this port answers as before and nothing else was found. '.repeat(125)}`,
      ),
    ]).flat(),
  ]

  it.each([
    [40, false],
    [66, true],
  ])('warns from 80 %% of the window on, by its own count: %i steps, %s', async (steps, warns) => {
    const own = policyNamed('cyber-autoagent', {
      CYBER_PROMPT_TELEMETRY_THRESHOLD: '0.95',
      CYBER_CONVERSATION_WINDOW: '200',
    })
    const { messages, events } = open({ policy: { ...own, design: { ...own.design, messages: undefined } } })
    await messages({ messages: scans(steps) }, [{ model: 'gpt-4.1', window: 200_000 }])
    const [, context] = /context=(\d+)/.exec(
      events.map((event) => (event.type === 'warning' ? event.message : '')).join('\n'),
    )!
    expect(Number(context) > 160_000).toBe(warns)
    expect(events.some(({ type }) => type === 'context-warning')).toBe(warns)
  })
})

describe('the simulator', () => {
  it('has an account that its policies take', async () => {
    const scenario = scenarios.find(({ name }) => name === '8k_NormalConversation')!
    const { summarizerCalls, compactions } = await simulate(scenario, { policy: 'contextguard' })
    expect(summarizerCalls).toBe(compactions)
  })
})
