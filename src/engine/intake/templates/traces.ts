import { Counter, NumberStats, exactPool, rounded, roundedSummary } from '../json/stats.ts'
import { spansOf, type SpanFacts } from './spans.ts'
import { Largest, shortText, type Template } from './template.ts'

const SLOW_TRACE_MS = 1_000
const MAX_TRACES = 10
const MAX_SPANS = 10
const TOP_OPERATIONS = 12
/** Traces held open at a time: spans of one trace may come far apart, and a list may hold millions. */
const MAX_OPEN = 50_000

interface Trace {
  readonly id: string
  spans: number
  error: boolean
  message?: string
  /** Duration and name of the root; of the longest span while no root was seen. */
  durationMs: number
  rooted: boolean
  name: string
  service: string
}

/** Traces as lists of spans, in the forms of OTLP, Jaeger, Zipkin, Cloud Trace and plain summaries. */
export function tracesTemplate(): Template {
  let spans = 0
  let failed = 0
  let unheld = 0
  const pool = exactPool()
  const traces = new Map<string, Trace>()
  const services = new Counter()
  const operations = new Map<string, { stats: NumberStats; errors: number }>()
  const durations = new NumberStats(pool)
  const slowest = new Largest<Record<string, unknown>>(MAX_SPANS)
  const failures = new Largest<Record<string, unknown>>(MAX_SPANS)

  function take(span: SpanFacts): void {
    spans++
    services.add(span.service)
    durations.add(span.durationMs)
    if (span.error) failed++
    const key = `${span.service}: ${shortText(span.name, 80)}`
    let operation = operations.get(key)
    if (operation === undefined && operations.size < 2_000)
      operations.set(key, (operation = { stats: new NumberStats(pool), errors: 0 }))
    operation?.stats.add(span.durationMs)
    if (operation !== undefined && span.error) operation.errors++
    slowest.offer(span.durationMs, () => facts(span))
    if (span.error) failures.offer(span.durationMs, () => facts(span))
    join(span)
  }

  function join(span: SpanFacts): void {
    const trace = traces.get(span.trace)
    const root = span.parent === undefined
    if (trace === undefined) {
      if (traces.size >= MAX_OPEN) {
        unheld++
        return
      }
      traces.set(span.trace, {
        id: span.trace,
        spans: 1,
        error: span.error || span.traceFailed === true,
        ...(span.message !== undefined && { message: span.message }),
        durationMs: span.durationMs,
        rooted: root,
        name: span.name,
        service: span.service,
      })
      return
    }
    trace.spans++
    trace.error ||= span.error || span.traceFailed === true
    if (span.message !== undefined) trace.message ??= span.message
    if ((root && !trace.rooted) || (!trace.rooted && span.durationMs > trace.durationMs)) {
      trace.rooted = root
      trace.durationMs = span.durationMs
      trace.name = span.name
      trace.service = span.service
    }
  }

  return {
    name: 'traces',
    add(record) {
      for (const span of spansOf(record)) take(span)
    },
    finish() {
      const list = [...traces.values()]
      const roots = new NumberStats(pool)
      const byService = new Counter()
      for (const trace of list) {
        roots.add(trace.durationMs)
        byService.add(trace.service)
      }
      const errors = list.filter((trace) => trace.error)
      const slow = list.filter((trace) => trace.durationMs > SLOW_TRACE_MS).sort((a, b) => b.durationMs - a.durationMs)
      return {
        total_traces: list.length,
        total_spans: spans,
        ...(unheld > 0 && { spans_of_further_traces: unheld }),
        by_service: byService.toObject(20),
        by_status: { ok: list.length - errors.length, error: errors.length },
        spans_by_service: services.toObject(20),
        failed_spans: failed,
        root_duration_ms: roundedSummary(roots),
        span_duration_ms: roundedSummary(durations),
        error_traces: errors.slice(0, MAX_TRACES).map(summary),
        slow_traces: slow.slice(0, MAX_TRACES).map(summary),
        failed_span_list: failures.values(),
        slowest_spans: slowest.values(),
        operations: [...operations]
          .sort((a, b) => b[1].stats.sum - a[1].stats.sum)
          .slice(0, TOP_OPERATIONS)
          .map(([operation, { stats, errors: failures }]) => {
            const [p50, p95] = stats.percentiles([0.5, 0.95]) as [number, number]
            return {
              operation,
              count: stats.count,
              total_ms: rounded(stats.sum),
              p50: rounded(p50),
              p95: rounded(p95),
              max: rounded(stats.max),
              ...(failures > 0 && { errors: failures }),
            }
          }),
      }
    },
  }
}

const summary = (trace: Trace): Record<string, unknown> => ({
  trace_id: trace.id,
  duration_ms: rounded(trace.durationMs),
  root: shortText(trace.name, 80),
  service: trace.service,
  ...(trace.message !== undefined && { error: shortText(trace.message, 160) }),
  spans: trace.spans,
})

const facts = (span: SpanFacts): Record<string, unknown> => ({
  duration_ms: rounded(span.durationMs),
  name: shortText(span.name, 80),
  service: span.service,
  ...(span.message !== undefined && { error: shortText(span.message, 160) }),
  span_id: span.id,
  trace_id: span.trace,
})
