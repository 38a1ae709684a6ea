import { describe, expect, it } from 'vitest'
import { policyNamed } from '../../../src/engine/presets/index.ts'
import { call, open, result, step, tool, words, type ChatMessage } from './chat.ts'

const PRO = [{ model: 'gemini-2.5-pro' }]

describe('t1: the narrative says what the results hold', () => {
  const outputs: readonly (readonly [tool: string, output: unknown, said: string])[] = [
    [
      'query_promql',
      { status: 'success', data: { resultType: 'vector', result: [{ value: [1, '2'] }, { value: [1, '3'] }] } },
      'PromQL returned 2 results of type vector',
    ],
    [
      'query_promql',
      { status: 'success', data: { resultType: 'scalar', result: [1, '2'] } },
      'PromQL returned 1 result of type scalar',
    ],
    [
      'query_promql',
      { result: { data: { resultType: 'matrix', result: [] } } },
      'PromQL returned 0 results of type matrix',
    ],
    ['list_time_series', { timeSeries: [1, 2, 3] }, 'Listed 3 time series'],
    ['list_time_series', { result: { time_series: [1, 2] } }, 'Listed 2 time series'],
    [
      'analyze_trace_comprehensive',
      { p99_ms: 120, error_count: 4, critical_path: [1, 2] },
      'Trace analysis: p99 120 ms, 4 errors, critical path of 2 spans',
    ],
    ['analyze_trace_comprehensive', { errors: [1] }, 'Trace analysis: 1 error'],
    ['analyze_aggregate_metrics', { services_analyzed: 7, anomalies: [1, 2] }, 'Analysed 7 services, found 2 issues'],
    ['analyze_aggregate_metrics', { services: ['a', 'b'] }, 'Analysed 2 services'],
    [
      'fetch_trace',
      { spans: [{ has_error: true }, {}], total_duration_ms: 50 },
      'Fetched a trace of 2 spans, 50 ms, 1 error',
    ],
    ['fetch_trace', { spans: [{ status: { code: 2 } }, {}] }, 'Fetched a trace of 2 spans, 1 error'],
    ['list_traces', { traces: [1, 2, 3, 4] }, 'Found 4 traces'],
    ['list_log_entries', { result: { entry_count: 9 } }, 'Retrieved 9 log entries'],
    ['extract_log_patterns', { patterns: [1] }, 'Extracted 1 log pattern'],
    [
      'extract_log_patterns',
      { top_patterns: [{ pattern: 'timeout *' }, { pattern: 'refused' }] },
      'Extracted 2 log patterns',
    ],
    ['analyze_trace_comprehensive', { p99_latency: 1834, error_count: 5 }, 'Trace analysis: p99 1834 ms, 5 errors'],
    ['analyze_trace_comprehensive', { latency: { p50: 120, p99: 1834 } }, 'Trace analysis: p99 1834 ms'],
    ['analyze_trace_comprehensive', { latency_ms: { p99_ms: '77' } }, 'Trace analysis: p99 77 ms'],
    ['analyze_trace_comprehensive', { p99: 9, critical_path: { spans: [1, 2] } }, 'critical path of 2 spans'],
    ['analyze_aggregate_metrics', { services: { a: {}, b: {} }, issues: 0 }, 'Analysed 2 services, found 0 issues'],
    ['analyze_aggregate_metrics', { metrics: [{ service: 'a' }, { service: 'b' }] }, 'Analysed 2 services'],
    ['fetch_trace', { spans: [{}, {}], duration: '4.2s' }, 'Fetched a trace of 2 spans, 4.2s, 0 errors'],
    [
      'fetch_trace',
      { status: 'error', result: null, error: 'Permission denied' },
      'fetch_trace failed: Permission denied',
    ],
    [
      'fetch_trace',
      { status: 'success', result: { status: 'ERROR', error: 'No such trace' } },
      'fetch_trace failed: No such trace',
    ],
    ['deploy', { error: { code: 403, message: 'Forbidden' } }, 'deploy failed: Forbidden'],
    ['deploy', { status: 'failed', reason: 'quota' }, 'deploy failed: quota'],
    ['list_logs', { error: 'e'.repeat(300) }, `list_logs failed: ${'e'.repeat(97)}...`],
    // A trace that failed is not a tool that failed, and no error is no failure.
    ['fetch_trace', { status: 'ERROR', spans: [{ error: true }] }, 'Fetched a trace of 1 span, 1 error'],
    ['list_traces', { error: null, traces: [1] }, 'Found 1 trace'],
    // A shape that nobody knows is told by its keys, never as a count of nothing.
    ['list_traces', { matches: [1, 2] }, 'list_traces returned keys matches'],
    ['deploy', { ok: true }, 'CUSTOM-DEPLOY-SUMMARY'],
  ]

  it.each(outputs.map((row, n) => [n, ...row] as const))('%i: %s', async (_, name, output, said) => {
    const { messages } = open({ policy: 'autosre', toolSummaries: { deploy: () => 'CUSTOM-DEPLOY-SUMMARY' } })
    const history: ChatMessage[] = [
      { role: 'user', content: 'go' },
      ...step('c1', name, {}, JSON.stringify(output)),
      ...Array.from({ length: 6 }, (_unused, n) => step(`o${n}`, 'other', { n }, words(18_000, n + 1))).flat(),
    ]
    const { texts } = await messages({ messages: history }, PRO)
    expect(texts[1]).toContain(`Called tool: ${name}\n`)
    expect(texts[1]!.split('\n').find((line) => line.includes(said))).toBeDefined()
  })

  const narrativeOf = async (steps: ChatMessage[]) => {
    const { messages } = open({ policy: 'autosre' })
    const history: ChatMessage[] = [
      { role: 'user', content: 'go' },
      ...steps,
      ...Array.from({ length: 6 }, (_unused, n) => step(`o${n}`, 'other', { n }, words(18_000, n + 1))).flat(),
    ]
    return (await messages({ messages: history }, PRO)).texts[1]!.split('\n')
  }
  const sixty = (of: (n: number) => readonly [name: string, input: object, output: unknown]): ChatMessage[] =>
    Array.from({ length: 60 }, (_, n) => {
      const [name, input, output] = of(n)
      return step(`e${n}`, name, input, JSON.stringify(output))
    }).flat()

  it('tells of calls in a row once, and what each was about', async () => {
    const lines = await narrativeOf(sixty((n) => ['list_traces', { page: n }, { traces: [1, 2] }]))
    expect(lines.filter((line) => line.includes('list_traces'))).toEqual([
      'Called tool: list_traces 60 times',
      'list_traces: Found 2 traces (60 times: page=0, page=1, page=2, …, page=59)',
    ])
  })

  it('tells the one outcome that differs', async () => {
    const lines = await narrativeOf(
      sixty((n) => ['list_traces', { service: `s${n}` }, n === 37 ? { error: 'quota used up' } : { traces: [1] }]),
    )
    expect(lines).toContain('list_traces failed: quota used up (s37)')
    expect(lines.filter((line) => line.startsWith('list_traces')).length).toBe(2)
  })

  it('names what each call was about where tools take turns', async () => {
    const lines = await narrativeOf(
      sixty((n) => [n % 2 === 0 ? 'list_traces' : 'list_log_entries', { service: `s${n}` }, { items: [n] }]),
    )
    const told = lines.filter((line) => line.startsWith('list_'))
    expect(told.length).toBeGreaterThan(40)
    expect(new Set(told).size).toBe(told.length)
  })

  it('tells of a result that came in as statistics by their totals', async () => {
    const { messages } = open({ policy: 'autosre' })
    const entries = Array.from({ length: 200 }, (_, n) => ({ severity: 'ERROR', payload: `failure ${n}` }))
    const history: ChatMessage[] = [
      { role: 'user', content: 'go' },
      ...step('c1', 'list_log_entries', {}, JSON.stringify(entries)),
      ...Array.from({ length: 6 }, (_, n) => step(`o${n}`, 'other', { n }, words(18_000, n + 1))).flat(),
    ]
    expect((await messages({ messages: history }, PRO)).texts[1]).toContain('Retrieved 200 log entries')
  })
})

describe('a3: the prompt for code', () => {
  const data = JSON.stringify(Array.from({ length: 200 }, (_, n) => ({ id: n, latency: n * 2 })))
  const shown = async (tools: readonly string[], sandbox?: false) => {
    const autosre = policyNamed('autosre', {})
    const guard = { ...autosre.intake.guard!, sandbox: false }
    const { messages } = open({
      policy: { ...autosre, intake: { ...autosre.intake, guard } },
      ...(sandbox === false && { sandbox }),
    })
    const handle = { handle: { type: 'string' } }
    const body = {
      messages: [{ role: 'user', content: 'hi' }, call('c1', 'list_log_entries'), result('c1', data)],
      tools: [tool('list_log_entries'), ...tools.map((name) => tool(name, handle))],
    }
    return JSON.parse((await messages(body)).texts[2]!) as { instructions: string; full_output: string }
  }

  it('names the tool that runs code, and the handle', async () => {
    const { instructions, full_output } = await shown(['artifact_read', 'artifact_run'])
    expect(instructions).toBe(
      `This is a sample. The full data is stored as ${full_output}. Call artifact_run with this handle and JavaScript that works on \`data\` and returns only the answer.`,
    )
  })

  it('asks for no code where nothing runs it', async () => {
    const { instructions, full_output } = await shown(['artifact_read'], false)
    expect(instructions).toBe(
      `This is a sample. The full data is stored as ${full_output}. No tool here runs code; call artifact_read with this handle to read parts of it.`,
    )
  })
})

describe('a5: the emergency brake in the shipped preset', () => {
  const history = (count: number, size: number, tailSize = size): ChatMessage[] => [
    { role: 'user', content: 'first task' },
    ...Array.from({ length: count }, (_, n) => ({
      role: n % 2 === 0 ? 'assistant' : 'user',
      content: words(n >= count - 5 ? tailSize : size, n + 1),
    })),
  ]

  it('above 900,000: the first message, one list and the last 6', async () => {
    const sent = history(40, 60_000)
    const { messages, events } = open({ policy: 'autosre' })
    const { texts, messages: left } = await messages({ messages: sent }, PRO)
    expect(left).toHaveLength(8)
    expect(texts[0]).toBe('first task')
    expect(texts[1]).toContain('EMERGENCY COMPACTION: 34 turns')
    expect(texts[1]!.length).toBeLessThanOrEqual(4_000)
    expect(left.slice(2)).toEqual(sent.slice(-6))
    expect(texts.filter((text) => /EMERGENCY COMPACTION|Previous conversation summary/.test(text))).toHaveLength(1)
    expect(events.filter(({ type }) => type === 'epoch-declared')).toHaveLength(1)
  })

  /** 41 messages whose estimate by characters / 2.5 is exactly this, instructions not counted. */
  const estimated = (tokens: number): ChatMessage[] => {
    const sizes = Array.from({ length: 39 }, () => 1_000)
    const characters = tokens * 2.5 - 'first task'.length
    const rest = characters - sizes.reduce((sum, size) => sum + size, 0)
    return [
      { role: 'user', content: 'first task' },
      { role: 'assistant', content: 'x'.repeat(rest) },
      ...sizes.map((size, n) => ({ role: n % 2 === 0 ? 'user' : 'assistant', content: words(size, n + 1) })),
    ]
  }
  const braked = async (tokens: number) => {
    const { messages } = open({ policy: 'autosre' })
    const { texts } = await messages({ messages: estimated(tokens) }, PRO)
    return { left: texts.length, isBraked: texts.some((text) => text.includes('EMERGENCY COMPACTION')) }
  }

  it.each([
    // The wire's framing adds a few tokens to what the characters say.
    [749_900, { left: 7, isBraked: false }],
    [750_100, { left: 12, isBraked: true }],
    [899_900, { left: 12, isBraked: true }],
    [900_100, { left: 8, isBraked: true }],
  ])('an estimate of %i tokens leaves %j', async (tokens, want) => {
    expect(await braked(tokens)).toEqual(want)
  })
})

describe('a8: the truncation guard behind the payload handler', () => {
  const environments = [
    { SRE_AGENT_LARGE_PAYLOAD_ENABLED: 'false' },
    { SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_ITEMS: '100000', SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS: '100,000,000' },
  ]
  const show = async (env: Record<string, string | undefined>, output: string) => {
    const { plimsoll } = open({ policy: policyNamed('autosre', env) })
    const session = plimsoll.session({ id: 'g' })
    const shown = await session.toolResult({ tool: 'x', callId: 'c', output, model: 'gemini-2.5-pro' })
    return { ...shown, read: async () => Buffer.from((await plimsoll.artifacts.read(shown.artifact!))!).toString() }
  }

  describe.each(environments)('%j', (env) => {
    it.each([
      [200_000, false],
      [200_100, true],
      [500_000, true],
    ])('a text of %i characters is cut: %s', async (size, cut) => {
      const output = words(size)
      const { text, truncated, artifact, read } = await show(env, output)
      expect(truncated).toBe(cut)
      if (!cut) return
      expect(text).toBe(`${output.slice(0, 200_000)}\n[TRUNCATED BY SRE AGENT SAFETY GUARD] Full output: ${artifact!}`)
      expect(await read()).toBe(output)
    })

    it.each([
      [500, undefined],
      [501, 1],
      [600, 100],
    ])('a list of %i items loses %s', async (count, lost) => {
      // Items that weigh more than the note about them: what is no gain is not cut.
      const items = Array.from({ length: count }, (_, n) => words(150, n + 1))
      const output = JSON.stringify(items)
      const { text, artifact } = await show(env, output)
      if (lost === undefined) return expect(text).toBe(output)
      const { result: kept, metadata } = JSON.parse(text) as { result: string[]; metadata: object }
      expect(kept).toEqual(items.slice(0, 500))
      expect(metadata).toEqual({ truncated_count: lost, full_output: artifact })
    })

    it('an object above 200,000 characters becomes a preview of 100,000 and a hint', async () => {
      const value = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`k${n}`, words(10_000, n + 1)]))
      const { text } = await show(env, JSON.stringify(value))
      const shown = JSON.parse(text) as { error: string; message: string; preview: string }
      expect(shown.error).toBe('Result too large')
      expect(shown.preview).toBe(`${JSON.stringify(value).slice(0, 100_000)}...`)
      expect(shown.message).toMatch(/filter/)
    })
  })

  it.each([
    [50_000, false],
    [50_001, true],
  ])(
    'SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS="50,000": %i characters of JSON are handled: %s',
    async (size, handled) => {
      // A text is written with its two quotes.
      const { report } = await show({ SRE_AGENT_LARGE_PAYLOAD_THRESHOLD_CHARS: '50,000' }, words(size))
      expect(report.handling_mode).toBe(handled ? 'generic_sandbox' : 'none')
    },
  )
})

describe('traces', () => {
  it('counts a trace that says itself that it failed', async () => {
    const traces = Array.from({ length: 60 }, (_, n) => ({
      trace_id: `t${n}`,
      ...(n < 7 && { status: 'ERROR' }),
      spans: n === 0 ? [] : [{ span_id: `s${n}`, duration_ms: 5 }],
      ...(n === 0 && { duration_ms: 9 }),
    }))
    const { plimsoll } = open({ policy: 'autosre' })
    const session = plimsoll.session({ id: 't' })
    const { text } = await session.toolResult({
      tool: 'list_traces',
      output: JSON.stringify(traces),
      model: 'gemini-2.5-pro',
    })
    expect(JSON.parse(text)).toMatchObject({ total_traces: 60, by_status: { ok: 53, error: 7 } })
  })
})

describe('the budget of 32,000', () => {
  const said = (count: number, length: number): ChatMessage[] =>
    Array.from({ length: count }, (_, n) => ({
      role: n % 2 === 0 ? 'user' : 'assistant',
      content: `message ${n} ${words(n >= count - 5 ? length : 2_000, n + 1)}`,
    }))
  const estimate = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0) / 4

  it.each([
    [10_000, true],
    [24_000, true],
    [30_000, true],
    [60_000, false],
    [200_000, false],
  ])('five recent messages of %i characters: whole %s', async (length, isWhole) => {
    const { messages } = open({ policy: 'autosre' })
    const { texts } = await messages({ messages: said(21, length) }, PRO)
    expect(estimate(texts)).toBeLessThanOrEqual(32_000)
    const recent = texts.filter((text) => /message (?:16|18|20) /.test(text) && text.length >= length)
    expect(recent.length === 3).toBe(isWhole)
    // What gave way opens again, and says where it began.
    if (!isWhole) expect(texts.at(-1)).toMatch(/art_[0-9a-z]{26}/)
    expect(texts.at(-1)).toContain('message 20 ')
  })
})
