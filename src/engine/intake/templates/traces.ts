import { Counter, NumberStats, rounded, roundedSummary } from '../json/fields.ts'
import { Largest, shortText, type Template, number, pick, text } from './template.ts'
import { isRecord } from '../../../core/values.ts'

const SLOW_TRACE_MS = 1_000
const MAX_TRACES = 10
const MAX_SPANS = 10

/** One span, whatever tracer wrote it. Times in milliseconds. */
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

/** Traces as lists of spans, in the forms of OTLP, Jaeger, Zipkin, Cloud Trace and plain summaries. */
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

/** Spans inside a record: a span, a trace with spans, or a block of resource spans. */
function* spansOf(record: unknown): Generator<SpanFacts> {
  if (!isRecord(record)) return
  const resourceSpans = pick(record, 'resourceSpans', 'resource_spans')
  if (Array.isArray(resourceSpans)) for (const block of resourceSpans) yield* otlpBlock(block)
  else if (record['scopeSpans'] !== undefined || record['instrumentationLibrarySpans'] !== undefined)
    yield* otlpBlock(record)
  else if (Array.isArray(record['spans']) && record['spans'].length > 0) yield* traceSpans(record, record['spans'])
  else {
    const span = spanOf(record, undefined, undefined)
    if (span !== undefined) yield span
  }
}

function* otlpBlock(block: unknown): Generator<SpanFacts> {
  if (!isRecord(block)) return
  const resource = isRecord(block['resource']) ? attributes(block['resource']['attributes']) : undefined
  const scopes = pick(block, 'scopeSpans', 'scope_spans', 'instrumentationLibrarySpans')
  if (!Array.isArray(scopes)) return
  for (const scope of scopes) {
    if (!isRecord(scope) || !Array.isArray(scope['spans'])) continue
    for (const span of scope['spans']) {
      if (!isRecord(span)) continue
      const facts = spanOf(span, undefined, resource?.['service.name'])
      if (facts !== undefined) yield facts
    }
  }
}

function* traceSpans(trace: Record<string, unknown>, spans: readonly unknown[]): Generator<SpanFacts> {
  const id = text(pick(trace, 'traceID', 'traceId', 'trace_id'))
  const processes = isRecord(trace['processes']) ? trace['processes'] : {}
  const service = text(pick(trace, 'service', 'serviceName', 'service_name'))
  const { error, message } = failureOf(trace, {})
  for (const span of spans) {
    if (!isRecord(span)) continue
    const process = processes[String(span['processID'])]
    const name = isRecord(process) ? text(process['serviceName']) : undefined
    const facts = spanOf(span, id, name ?? service)
    if (facts === undefined) continue
    yield error ? { ...facts, traceFailed: true, message: facts.message ?? message } : facts
  }
}

function spanOf(
  span: Record<string, unknown>,
  trace: string | undefined,
  service: string | undefined,
): SpanFacts | undefined {
  const id = text(pick(span, 'spanID', 'spanId', 'span_id', 'id'))
  const duration = durationOf(span)
  if (id === undefined && duration === undefined) return undefined
  const tags = { ...attributes(span['tags']), ...attributes(span['attributes']), ...attributes(span['labels']) }
  const failure = failureOf(span, tags)
  return {
    trace: text(pick(span, 'traceID', 'traceId', 'trace_id')) ?? trace ?? 'unknown',
    id: id ?? '',
    isRoot: ['', '0'].includes(parentOf(span) ?? ''),
    service: serviceOf(span, tags) ?? service ?? 'unknown',
    name: text(pick(span, 'operationName', 'name', 'operation', 'displayName')) ?? 'unnamed',
    durationMs: duration ?? 0,
    error: failure.error,
    message: failure.message,
  }
}

function serviceOf(span: Record<string, unknown>, tags: Record<string, string>): string | undefined {
  const from = pick(span, 'localEndpoint', 'process')
  if (isRecord(from)) return text(from['serviceName'])
  return text(pick(span, 'service', 'serviceName', 'service_name')) ?? tags['service.name'] ?? tags['component']
}

function parentOf(span: Record<string, unknown>): string | undefined {
  const references = span['references']
  if (Array.isArray(references)) {
    const parent: unknown = references.find((each) => isRecord(each) && each['refType'] !== 'FOLLOWS_FROM')
    if (isRecord(parent)) return text(parent['spanID'])
  }
  return text(pick(span, 'parentSpanId', 'parent_span_id', 'parentId', 'parentSpanID'))
}

/** Jaeger and Zipkin write microseconds, OTLP nanoseconds, Cloud Trace two timestamps. */
function durationOf(span: Record<string, unknown>): number | undefined {
  const explicit = number(pick(span, 'duration_ms', 'durationMs', 'latency_ms'))
  if (explicit !== undefined) return explicit
  const micros = number(span['duration'])
  if (micros !== undefined) return micros / 1_000
  // Nanoseconds since 1970 do not fit a double; what is lost is less than a microsecond.
  const start = number(span['startTimeUnixNano'])
  const end = number(span['endTimeUnixNano'])
  if (start !== undefined && end !== undefined) return Math.round((end - start) / 1e3) / 1e3
  const from = Date.parse(text(pick(span, 'startTime', 'start_time')) ?? '')
  const to = Date.parse(text(pick(span, 'endTime', 'end_time')) ?? '')
  return Number.isNaN(from) || Number.isNaN(to) ? undefined : to - from
}

function failureOf(span: Record<string, unknown>, tags: Record<string, string>): { error: boolean; message?: string } {
  const status = span['status']
  const code = isRecord(status) ? pick(status, 'code', 'status_code') : status
  const failed =
    code === 2 || code === 'STATUS_CODE_ERROR' || (typeof code === 'string' && /^error|failed|^5\d\d$/i.test(code))
  const tag = tags['error']
  const http = number(pick(tags, 'http.status_code', 'http.response.status_code', '/http/status_code'))
  const error =
    failed ||
    span['error'] === true ||
    (typeof span['error'] === 'string' && span['error'] !== '') ||
    (tag !== undefined && tag !== 'false') ||
    tags['otel.status_code'] === 'ERROR' ||
    (http !== undefined && http >= 500)
  if (!error) return { error }
  const message =
    (isRecord(status) ? text(status['message']) : undefined) ??
    tags['error.message'] ??
    tags['exception.message'] ??
    tags['otel.status_description'] ??
    (tag !== undefined && tag !== 'true' && tag !== '' ? tag : undefined) ??
    text(span['error_message']) ??
    (http === undefined ? undefined : `http ${http}`)
  return { error, message: message !== undefined && message !== '' ? message : undefined }
}

/** Tags come as an object, as Jaeger's list of {key, value} or as OTLP's typed values. */
function attributes(raw: unknown): Record<string, string> {
  const out: Record<string, string> = {}
  if (Array.isArray(raw)) {
    for (const entry of raw) {
      if (!isRecord(entry) || typeof entry['key'] !== 'string') continue
      const value = isRecord(entry['value']) ? Object.values(entry['value'])[0] : entry['value']
      const word = text(value)
      if (word !== undefined) out[entry['key']] = word
    }
  } else if (isRecord(raw)) {
    for (const [key, value] of Object.entries(raw)) {
      const word = text(value)
      if (word !== undefined) out[key] = word
    }
  }
  return out
}
