import { describe, expect, it } from 'vitest'
import { createToolRegistry } from '../../src/engine/intake/index.ts'
import { NumberStats } from '../../src/engine/intake/json/fields.ts'
import { runTemplate } from '../../src/engine/presets/autosre/templates.ts'
import { seeded } from './helpers.ts'

const range = <T>(count: number, make: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i))

describe('metrics', () => {
  it('counts 200 descriptors by kind and value type and lists 20 with cut descriptions', () => {
    const summary = runTemplate(
      'metrics',
      range(200, (i) => ({
        type: `custom/metric_${i}`,
        metric_kind: i % 2 === 0 ? 'GAUGE' : 'DELTA',
        value_type: i % 4 === 0 ? 'INT64' : 'DOUBLE',
        description: 'd'.repeat(150),
      })),
    )
    expect(summary).toMatchObject({
      total_metrics: 200,
      by_kind: { GAUGE: 100, DELTA: 100 },
      by_value_type: { DOUBLE: 150, INT64: 50 },
    })
    const top = summary['top_metrics'] as { description: string }[]
    expect(top).toHaveLength(20)
    expect(top[0]!.description).toBe(`${'d'.repeat(100)}…`)
  })
})

describe('time series', () => {
  it('summarises each series and sorts by points, at most 50', () => {
    const summary = runTemplate(
      'timeseries',
      range(60, (i) => ({
        metric: { type: i % 2 === 0 ? 'cpu' : 'memory' },
        resource: { type: 'gce_instance' },
        points: range(i + 1, (p) => ({
          interval: { endTime: `2025-01-01T00:${String(59 - p).padStart(2, '0')}:00Z` },
          value: { doubleValue: p },
        })),
      })),
    )
    expect(summary).toMatchObject({
      total_series: 60,
      total_points: 1_830,
      by_metric: { cpu: 30, memory: 30 },
      by_resource: { gce_instance: 60 },
    })
    const series = summary['series'] as Record<string, number>[]
    expect(series).toHaveLength(50)
    // Newest first, as the API writes: the latest value is the first point.
    expect(series[0]).toMatchObject({ points: 60, min: 0, max: 59, avg: 29.5, p50: 29, p95: 56, p99: 59, latest: 0 })
  })

  it('finds the points that stick out', () => {
    const random = seeded(7)
    const values = range(100, (i) => [1_700_000_000 + i, String(i === 42 ? 900 : 10 + random())])
    const summary = runTemplate('timeseries', [{ metric: { __name__: 'latency', pod: 'a' }, values }])
    expect(summary['anomalies']).toEqual([
      expect.objectContaining({ value: 900, time: '1700000042', metric: 'latency', labels: 'pod=a' }),
    ])
  })
})

describe('logs', () => {
  const entries = range(150, (i) => ({
    severity: ['ERROR', 'WARNING', 'INFO'][i % 3],
    timestamp: `2025-01-01T00:00:${String(i % 60).padStart(2, '0')}Z`,
    resource: { type: 'k8s_container' },
    textPayload: i % 3 === 0 ? `query ${i} failed` : `message ${i} ${'x'.repeat(300)}`,
  }))

  it('counts severities and resources, keeps three samples of each and the time range', () => {
    const summary = runTemplate('logs', entries)
    expect(summary).toMatchObject({
      total_entries: 150,
      by_severity: { ERROR: 50, WARNING: 50, INFO: 50 },
      by_resource_type: { k8s_container: 150 },
      time_range: { earliest: '2025-01-01T00:00:00Z', latest: '2025-01-01T00:00:59Z' },
    })
    const samples = summary['samples'] as { severity: string; payload: string }[]
    expect(samples).toHaveLength(9)
    expect(Math.max(...samples.map(({ payload }) => payload.length))).toBeLessThanOrEqual(201)
  })

  it('lists the top ten error texts and groups errors by template', () => {
    const summary = runTemplate('logs', entries)
    expect(summary['top_errors']).toHaveLength(10)
    expect(summary['error_groups']).toEqual([
      { count: 50, template: 'query <*> failed', first_item: 1, last_item: 148 },
    ])
  })

  it('reads structured payloads and numeric levels', () => {
    const summary = runTemplate('logs', [
      { level: 50, msg: 'a' },
      { severity: 'error', jsonPayload: { message: 'b' } },
      { level: 30, msg: 'c' },
    ])
    expect(summary['by_severity']).toEqual({ ERROR: 2, INFO: 1 })
    expect(summary['top_errors']).toEqual([
      { message: 'a', count: 1 },
      { message: 'b', count: 1 },
    ])
  })
})

describe('traces', () => {
  const traces = range(100, (i) => ({
    trace_id: `t${i}`,
    service: `svc-${i % 5}`,
    spans: [
      {
        span_id: `${i}-root`,
        name: 'GET /',
        duration_ms: i * 30,
        status: i < 10 ? 'ERROR' : 'OK',
        error_message: i < 10 ? 'boom' : undefined,
      },
      { span_id: `${i}-db`, parent_span_id: `${i}-root`, name: 'SELECT', service: 'db', duration_ms: i * 10 },
    ],
  }))

  it('counts services, statuses and root durations, and lists error and slow traces', () => {
    const summary = runTemplate('traces', traces)
    expect(summary).toMatchObject({
      total_traces: 100,
      total_spans: 200,
      by_service: { 'svc-0': 20, 'svc-1': 20, 'svc-2': 20, 'svc-3': 20, 'svc-4': 20 },
      by_status: { ok: 90, error: 10 },
      root_duration_ms: { min: 0, max: 2_970, avg: 1_485, p50: 1_470, p95: 2_820, p99: 2_940 },
      failed_spans: 10,
    })
    expect(summary['error_traces']).toHaveLength(10)
    const slow = summary['slow_traces'] as { duration_ms: number }[]
    expect(slow).toHaveLength(10)
    expect(slow[0]!.duration_ms).toBe(2_970)
    expect((summary['slowest_spans'] as { name: string }[])[0]).toMatchObject({ name: 'GET /', duration_ms: 2_970 })
  })

  it('reads Cloud Trace', () => {
    const record = {
      traceId: 'a',
      spans: [
        {
          spanId: '1',
          name: 'x',
          startTime: '2025-01-01T00:00:00Z',
          endTime: '2025-01-01T00:00:00.250Z',
          labels: { component: 'web', '/http/status_code': '503', 'error.message': 'no' },
        },
      ],
    }
    expect(runTemplate('traces', [record])).toMatchObject({
      total_traces: 1,
      by_service: { web: 1 },
      by_status: { ok: 0, error: 1 },
      root_duration_ms: { min: 250, max: 250 },
      failed_span_list: [{ name: 'x', service: 'web', duration_ms: 250, error: 'no' }],
    })
  })
})

describe('generic', () => {
  it('counts 100 records, their top fields, and keeps five samples of 500 characters', () => {
    const summary = runTemplate(
      'generic',
      range(100, (i) => ({ id: i, ...(i % 2 === 0 && { even: true }), text: 'y'.repeat(900) })),
    )
    expect(summary).toMatchObject({ total_items: 100, top_fields: { id: 100, text: 100, even: 50 } })
    expect(summary['samples']).toHaveLength(5)
    expect((summary['samples'] as string[]).every((sample) => sample.length <= 501)).toBe(true)
    expect((summary['fields'] as Record<string, string>)['even']).toBe('boolean in 50 of 100; always "true"')
  })
})

describe('percentiles', () => {
  it('are exact by nearest rank', () => {
    const stats = new NumberStats()
    range(1_000, (i) => stats.add(i + 1))
    expect(stats.summary()).toMatchObject({ p50: 500, p95: 950, p99: 990 })
  })
})

describe('tool summaries', () => {
  const registry = createToolRegistry()

  it.each([
    [
      'fetch_trace',
      { result: { spans: [{ error: true }, {}], duration_ms: 12 } },
      'Fetched a trace of 2 spans, 12 ms, 1 error',
    ],
    ['list_traces', { result: [1, 2, 3] }, 'Found 3 traces'],
    ['list_log_entries', { result: { entries: [1, 2] } }, 'Retrieved 2 log entries'],
    ['list_log_entries', { result: { entry_count: 7 } }, 'Retrieved 7 log entries'],
    [
      'analyze_aggregate_metrics',
      { result: { services: ['a', 'b'], issues: ['x'] } },
      'Analysed 2 services, found 1 issue',
    ],
    [
      'analyze_trace_comprehensive',
      { result: { p99: 40, error_count: 2, critical_path: [1, 2, 3] } },
      'Trace analysis: p99 40 ms, 2 errors, critical path of 3 spans',
    ],
    ['extract_log_patterns', { result: { patterns: [1] } }, 'Extracted 1 log pattern'],
    [
      'query_promql',
      { result: { data: { resultType: 'vector', result: [1, 2] } } },
      'PromQL returned 2 results of type vector',
    ],
    ['list_time_series', { result: { time_series: [1, 2] } }, 'Listed 2 time series'],
    [
      'unknown_tool',
      { status: 'ok', result: { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 } },
      'unknown_tool (ok) returned keys a, b, c, d, e, …',
    ],
    ['unknown_tool', { result: [1, 2] }, 'unknown_tool returned 2 items'],
    ['list_traces', { result: 'nothing' }, 'list_traces returned nothing'],
  ])('%s', (tool, response, sentence) => {
    expect(registry.summarise(tool, response)).toBe(sentence)
  })

  it('ships the eight strategies and takes more in one function', () => {
    expect(registry.tools).toHaveLength(8)
    const own = createToolRegistry({
      mine: () => 'my own sentence',
      broken: () => {
        throw new Error('no')
      },
    })
    expect(own.summarise('mine', {})).toBe('my own sentence')
    expect(own.summarise('broken', { result: [1] })).toBe('broken returned 1 item')
  })
})
