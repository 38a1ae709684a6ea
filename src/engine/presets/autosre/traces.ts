import { Counter, NumberStats, rounded, roundedSummary } from '../../intake/json/fields.ts'
import { Largest, shortText, type Template, number, pick, text } from '../../intake/templates/template.ts'
import { isRecord } from '../../../core/values.ts'

const SLOW_TRACE_MS = 1_000
const MAX_TRACES = 10
const MAX_SPANS = 10

/** One span. Times in milliseconds. */
interface SpanFacts {
  readonly trace: string
  readonly id: string
  readonly isRoot: boolean
  readonly service: string
  readonly name: string
  readonly durationMs: number
  readonly error: boolean
  readonly message?: string
  /** The trace says of itself that it failed, whatever its spans say. */
  readonly traceFailed?: true
}

interface Trace {
  spans: number
  error: boolean
  message?: string
  /** The root; the longest span while no root was seen. */
  root: SpanFacts
}

/** Traces as lists of spans, as Cloud Trace and the design's own tools write them. */
export function tracesTemplate(): Template {
  let failed = 0
  const services = new Counter()
  const durations = new NumberStats()
  const slowest = new Largest<Record<string, unknown>>(MAX_SPANS)
  const failures = new Largest<Record<string, unknown>>(MAX_SPANS)
  const traces = new Map<string, Trace>()
  return {
    name: 'traces',
    add(record) {
      for (const span of spansOf(record)) {
        services.add(span.service)
        durations.add(span.durationMs)
        slowest.offer(span.durationMs, () => factsOf(span))
        if (span.error) {
          failed++
          failures.offer(span.durationMs, () => factsOf(span))
        }
        addSpan(traces, span)
      }
    },
    finish() {
      const all = [...traces.values()]
      const roots = new NumberStats()
      const byService = new Counter()
      for (const { root } of all) {
        roots.add(root.durationMs)
        byService.add(root.service)
      }
      const errors = all.filter(({ error }) => error)
      const slow = all
        .filter(({ root }) => root.durationMs > SLOW_TRACE_MS)
        .sort((a, b) => b.root.durationMs - a.root.durationMs)
      return {
        total_traces: all.length,
        total_spans: durations.count,
        by_service: byService.toObject(20),
        by_status: { ok: all.length - errors.length, error: errors.length },
        spans_by_service: services.toObject(20),
        failed_spans: failed,
        root_duration_ms: roundedSummary(roots),
        span_duration_ms: roundedSummary(durations),
        error_traces: errors.slice(0, MAX_TRACES).map(summaryOf),
        slow_traces: slow.slice(0, MAX_TRACES).map(summaryOf),
        failed_span_list: failures.values(),
        slowest_spans: slowest.values(),
      }
    },
  }
}

function addSpan(traces: Map<string, Trace>, span: SpanFacts): void {
  const error = span.error || span.traceFailed === true
  const known = traces.get(span.trace)
  if (known === undefined) {
    traces.set(span.trace, { spans: 1, error, message: span.message, root: span })
    return
  }
  known.spans++
  known.error ||= error
  known.message ??= span.message
  if (!known.root.isRoot && (span.isRoot || span.durationMs > known.root.durationMs)) known.root = span
}

const summaryOf = ({ root, message, spans }: Trace): Record<string, unknown> => ({
  trace_id: root.trace,
  duration_ms: rounded(root.durationMs),
  root: shortText(root.name, 80),
  service: root.service,
  error: message === undefined ? undefined : shortText(message, 160),
  spans,
})

const factsOf = (span: SpanFacts): Record<string, unknown> => ({
  duration_ms: rounded(span.durationMs),
  name: shortText(span.name, 80),
  service: span.service,
  error: span.message === undefined ? undefined : shortText(span.message, 160),
  span_id: span.id,
  trace_id: span.trace,
})

/** Spans inside a record: a span, or a trace with spans. */
function* spansOf(record: unknown): Generator<SpanFacts> {
  if (!isRecord(record)) return
  const spans = record['spans']
  if (Array.isArray(spans) && spans.length > 0) return yield* traceSpans(record, spans)
  const span = spanOf(record, undefined, undefined)
  if (span !== undefined) yield span
}

function* traceSpans(trace: Record<string, unknown>, spans: readonly unknown[]): Generator<SpanFacts> {
  const id = text(pick(trace, 'traceId', 'trace_id'))
  const service = text(pick(trace, 'service', 'serviceName', 'service_name'))
  const { error, message } = failureOf(trace, {})
  for (const span of spans) {
    const facts = isRecord(span) ? spanOf(span, id, service) : undefined
    if (facts === undefined) continue
    yield error ? { ...facts, traceFailed: true, message: facts.message ?? message } : facts
  }
}

function spanOf(
  span: Record<string, unknown>,
  trace: string | undefined,
  service: string | undefined,
): SpanFacts | undefined {
  const id = text(pick(span, 'spanId', 'span_id', 'id'))
  const duration = durationOf(span)
  if (id === undefined && duration === undefined) return undefined
  const labels = { ...labelsIn(span['attributes']), ...labelsIn(span['labels']) }
  const failure = failureOf(span, labels)
  const parent = text(pick(span, 'parentSpanId', 'parent_span_id'))
  const own = text(pick(span, 'service', 'serviceName', 'service_name')) ?? labels['service.name']
  return {
    trace: text(pick(span, 'traceId', 'trace_id')) ?? trace ?? 'unknown',
    id: id ?? '',
    isRoot: ['', '0'].includes(parent ?? ''),
    service: own ?? labels['component'] ?? service ?? 'unknown',
    name: text(pick(span, 'name', 'operation', 'displayName')) ?? 'unnamed',
    durationMs: duration ?? 0,
    error: failure.error,
    message: failure.message,
  }
}

/** Said in so many words, or from the two times of Cloud Trace. */
function durationOf(span: Record<string, unknown>): number | undefined {
  const explicit = number(pick(span, 'duration_ms', 'durationMs', 'latency_ms'))
  if (explicit !== undefined) return explicit
  const from = Date.parse(text(pick(span, 'startTime', 'start_time')) ?? '')
  const to = Date.parse(text(pick(span, 'endTime', 'end_time')) ?? '')
  return Number.isNaN(from) || Number.isNaN(to) ? undefined : to - from
}

function failureOf(
  span: Record<string, unknown>,
  labels: Record<string, string>,
): { readonly error: boolean; readonly message?: string } {
  const { status, error: told } = span
  const code = isRecord(status) ? pick(status, 'code', 'status_code') : status
  const failed = code === 2 || (typeof code === 'string' && /^error|failed|^5\d\d$|STATUS_CODE_ERROR/i.test(code))
  const label = labels['error'] ?? 'false'
  const http = number(pick(labels, 'http.status_code', '/http/status_code')) ?? 0
  const isTold = told === true || (typeof told === 'string' && told !== '')
  if (!failed && !isTold && label === 'false' && http < 500) return { error: false }
  const message =
    (isRecord(status) ? text(status['message']) : undefined) ??
    labels['error.message'] ??
    text(span['error_message']) ??
    (http >= 500 ? `http ${http}` : undefined)
  return { error: true, message: message === '' ? undefined : message }
}

function labelsIn(raw: unknown): Record<string, string> {
  if (!isRecord(raw)) return {}
  const entries = Object.entries(raw).flatMap(([key, value]): [string, string][] => {
    const word = text(value)
    return word === undefined ? [] : [[key, word]]
  })
  return Object.fromEntries(entries)
}
