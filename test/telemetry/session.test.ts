import { metrics, SpanStatusCode, trace } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PlimsollEvent } from '../../src/core/events.ts'
import { createPlimsoll, type Plimsoll, type PlimsollOptions } from '../../src/index.ts'
import { call, createReferee, say, type Fault } from '../../src/testing/referee/index.ts'
import { toolOutput } from '../sdks/ways.ts'

const MODEL = 'claude-sonnet-4-5'
const WINDOW = 16_000
const STEPS = 30

const exporter = new InMemorySpanExporter()
const metricExporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
const reader = new PeriodicExportingMetricReader({ exporter: metricExporter, exportIntervalMillis: 3_600_000 })
const meterProvider = new MeterProvider({ readers: [reader] })

/** An agent with long tool results against the referee: everything that telemetry tells of happens in it. */
async function run(telemetry: boolean) {
  const events: PlimsollEvent[] = []
  const referee = createReferee({
    wire: 'anthropic-messages',
    window: WINDOW,
    script: ({ number }) => (number < STEPS ? call('read_log', { step: number }) : say('Done.')),
  })
  const plimsoll = createPlimsoll({
    store: 'memory:',
    window: WINDOW,
    fetch: referee.fetch,
    telemetry,
    onEvent: (event) => events.push(event),
  })
  const messages: object[] = [{ role: 'user', content: 'Why does it fail?' }]
  for (let step = 0; step <= STEPS; step++) {
    const answer = await plimsoll.fetch('https://api.anthropic.com/v1/messages', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'k',
        'x-plimsoll-session': 'run',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify({
        model: MODEL,
        max_tokens: 400,
        tools: [{ name: 'read_log', input_schema: { type: 'object' } }],
        messages,
      }),
    })
    const { content } = (await answer.json()) as { content: { type: string; id?: string }[] }
    messages.push({ role: 'assistant', content })
    const results = content
      .filter(({ type }) => type === 'tool_use')
      .map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: toolOutput(step, 60) }))
    if (results.length === 0) break
    messages.push({ role: 'user', content: results })
  }
  const ledger = plimsoll.ledger.totals()
  const calls = plimsoll.ledger.calls()
  await plimsoll.close()
  return { events, ledger, calls }
}

beforeAll(() => {
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
  metrics.setGlobalMeterProvider(meterProvider)
})
afterAll(async () => {
  trace.disable()
  metrics.disable()
  await meterProvider.shutdown()
})

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0)

describe('a session as an OpenTelemetry SDK received it', () => {
  it('equals the ledger to the token and the cent, in spans and in metrics', async () => {
    exporter.reset()
    const { events, ledger, calls } = await run(true)
    const spans = exporter.getFinishedSpans()
    const of = (name: string) => spans.map(({ attributes }) => Number(attributes[name] ?? 0))

    expect(spans).toHaveLength(ledger.calls)
    expect(ledger.calls).toBeGreaterThanOrEqual(STEPS)
    expect(new Set(spans.map(({ name }) => name))).toEqual(new Set([`chat ${MODEL}`]))
    expect({
      input: sum(of('gen_ai.usage.input_tokens')),
      output: sum(of('gen_ai.usage.output_tokens')),
      cacheRead: sum(of('gen_ai.usage.cache_read.input_tokens')),
      cacheWrite: sum(of('gen_ai.usage.cache_creation.input_tokens')),
    }).toEqual({
      input: ledger.usage.input,
      output: ledger.usage.output,
      cacheRead: ledger.usage.cacheRead,
      cacheWrite: ledger.usage.cacheWrite,
    })
    expect(ledger.costUsd).toBeGreaterThan(0)
    expect(sum(of('plimsoll.cost_usd'))).toBeCloseTo(ledger.costUsd, 10)
    // Call by call, in order.
    expect(of('plimsoll.cost_usd')).toEqual(calls.toReversed().map(({ costUsd }) => costUsd))

    const prepared = events.filter((event) => event.type === 'request-prepared')
    const declared = events.filter((event) => event.type === 'epoch-declared')
    expect(declared.length).toBeGreaterThan(0)
    expect(of('plimsoll.load')).toEqual(prepared.map(({ load }) => Math.round(load)))
    expect(of('plimsoll.limit')).toEqual(prepared.map(({ limit }) => limit))
    expect(spans.flatMap(({ attributes }) => attributes['plimsoll.compaction'] ?? [])).toEqual(
      declared.map(({ epoch }) => epoch),
    )
    expect(spans.flatMap(({ events: inside }) => inside.map(({ name }) => name))).toEqual(
      declared.map(() => 'plimsoll.compaction'),
    )
    // The same as in the log: tokens as the provider counts them.
    const answered = events.filter((event) => event.type === 'usage-recorded')
    expect(of('plimsoll.saved_tokens')).toEqual(answered.map(({ removed = 0 }) => Math.max(0, removed)))
    expect(Math.max(...of('plimsoll.saved_tokens'))).toBeGreaterThan(1_000)
    for (const { attributes } of spans)
      expect(attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'anthropic',
        'gen_ai.request.model': MODEL,
        'gen_ai.conversation.id': 'run',
      })
    // What was sent stays in the request.
    expect(JSON.stringify(spans.map(({ attributes, events: inside }) => [attributes, inside]))).not.toContain('order=')

    const points = await collected()
    const total = (name: string, kind?: string): number =>
      sum(
        points(name)
          .filter(({ attributes }) => kind === undefined || attributes['plimsoll.token.kind'] === kind)
          .map(({ value }) => value as number),
      )
    for (const kind of ['input', 'cacheRead', 'cacheWrite', 'output', 'reasoning'] as const)
      expect([kind, total('plimsoll.tokens', kind)]).toEqual([kind, ledger.usage[kind]])
    expect(total('plimsoll.cost')).toBeCloseTo(ledger.costUsd, 10)
    expect(total('plimsoll.saved_tokens')).toBe(sum(of('plimsoll.saved_tokens')))
    expect(total('plimsoll.net')).toBeCloseTo(sum(of('plimsoll.net_usd')), 10)
    expect(total('plimsoll.compactions')).toBe(declared.length)
    const counted = points('gen_ai.client.token.usage').map(({ value }) => value as { count: number; sum: number })
    expect(sum(counted.map(({ count }) => count))).toBe(2 * ledger.calls)
    expect(sum(counted.map((each) => each.sum))).toBe(ledger.usage.input + ledger.usage.output)
    const durations = points('gen_ai.client.operation.duration').map(({ value }) => value as { count: number })
    expect(sum(durations.map(({ count }) => count))).toBe(ledger.calls)
  })

  it('is nothing when telemetry is off', async () => {
    exporter.reset()
    await run(false)
    expect(exporter.getFinishedSpans()).toEqual([])
  })
})

describe('a call without an answer', () => {
  const send = (plimsoll: Plimsoll, system: string) =>
    plimsoll.fetch('https://api.anthropic.com/v1/messages', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-api-key': 'k',
        'x-plimsoll-session': 'run',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify({ model: MODEL, max_tokens: 100, system, messages: [{ role: 'user', content: 'Hi' }] }),
    })

  /** What the exporter got of one request, as far as it says how the call ended. */
  async function spansOf(
    options: PlimsollOptions,
    { system = 'Be brief.', fault }: { system?: string; fault?: Fault } = {},
  ) {
    exporter.reset()
    const referee = createReferee({
      wire: 'anthropic-messages',
      window: 4_000,
      script: () => say('Done.'),
      ...(fault !== undefined && { faults: () => fault }),
    })
    const plimsoll = createPlimsoll({ store: 'memory:', fetch: referee.fetch, ...options })
    await (await send(plimsoll, system)).text()
    const { calls } = plimsoll.ledger.totals()
    await plimsoll.close()
    const spans = exporter.getFinishedSpans()
    expect(spans.filter(({ status }) => status.code !== SpanStatusCode.ERROR)).toHaveLength(calls)
    return spans.map(({ status, attributes }) => ({
      failed: status.code === SpanStatusCode.ERROR ? status.message : false,
      verdict: attributes['plimsoll.verdict'],
      by: attributes['plimsoll.refused_by'],
      type: attributes['error.type'],
      status: attributes['http.response.status_code'],
    }))
  }

  it('is a span of its own with the status that the provider gave', async () => {
    const spans = await spansOf({}, { fault: { kind: 'throttle' } })
    expect(spans).toEqual([
      { failed: 'the provider answered 429', verdict: 'proceed', by: 'provider', type: '429', status: 429 },
    ])
  })

  it('says that it was not sent, and why', async () => {
    const budget = { name: 'day', scope: 'day', unit: 'tokens', hard: 10 } as const
    const notSent = { by: 'plimsoll', status: undefined }
    expect(await spansOf({ budgets: [budget] })).toEqual([
      { ...notSent, failed: 'not sent: budget-exceeded', verdict: 'halt', type: 'budget-exceeded' },
    ])
    const spans = await spansOf({ window: 4_000 }, { system: 'one word after another '.repeat(9_000) })
    expect(spans).toEqual([
      { ...notSent, failed: 'not sent: fixed-overhead', verdict: undefined, type: 'fixed-overhead' },
    ])
  })

  it('is counted, apart from those that cost something', async () => {
    const before = (await collected())('plimsoll.calls_refused').map(({ value }) => value as number)
    await spansOf({}, { fault: { kind: 'server-error', status: 500 } })
    const points = (await collected())('plimsoll.calls_refused')
    expect(sum(points.map(({ value }) => value as number))).toBe(sum(before) + 1)
    expect(points.map(({ attributes }) => attributes['error.type'])).toContain('500')
  })
})

async function collected() {
  metricExporter.reset()
  await reader.forceFlush()
  const found = metricExporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics.filter(({ scope }) => scope.name === 'plimsoll')
    .flatMap((scope) => scope.metrics)
  return (name: string) =>
    found.filter(({ descriptor }) => descriptor.name === name).flatMap(({ dataPoints }) => [...dataPoints])
}
