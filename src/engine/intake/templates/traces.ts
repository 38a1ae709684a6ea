import { Counter, NumberStats, rounded, roundedSummary } from '../json/fields.ts'
import { Largest, shortText, type Template, number, pick, text } from './template.ts'
import { isRecord } from '../../../core/values.ts'

const SLOW_TRACE_MS = 1_000
const MAX_TRACES = 10
const MAX_SPANS = 10
const TOP_OPERATIONS = 12
const MAX_OPERATIONS = 2_000
/** Traces held open at a time: spans of one trace may come far apart, and a list may hold millions. */
const MAX_OPEN = 50_000

interface Trace {
  readonly id: string
  readonly spans: number
  readonly error: boolean
  readonly message?: string
  /** Duration and name of the root; of the longest span while no root was seen. */
  readonly durationMs: number
  readonly rooted: boolean
  readonly name: string
  readonly service: string
}

/** Traces as lists of spans, in the forms of OTLP, Jaeger, Zipkin, Cloud Trace and plain summaries. */
export function tracesTemplate(): Template {
  let failed = 0
  const services = new Counter()
  const durations = new NumberStats()
  const slowest = new Largest<Record<string, unknown>>(MAX_SPANS)
  const failures = new Largest<Record<string, unknown>>(MAX_SPANS)
  const traces = spansByTrace()
  const operations = spansByOperation()
  return {
    name: 'traces',
    add(record) {
      for (const span of spansOf(record)) {
        services.add(span.service)
        durations.add(span.durationMs)
        slowest.offer(span.durationMs, () => facts(span))
        if (span.error) {
          failed++
          failures.offer(span.durationMs, () => facts(span))
        }
        traces.add(span)
        operations.add(span)
      }
    },
    finish() {
      const { list, further } = traces
      const roots = new NumberStats()
      const byService = new Counter()
      for (const trace of list.values()) {
        roots.add(trace.durationMs)
        byService.add(trace.service)
      }
      const errors = [...list.values()].filter((trace) => trace.error)
      const slow = [...list.values()]
        .filter((trace) => trace.durationMs > SLOW_TRACE_MS)
        .sort((a, b) => b.durationMs - a.durationMs)
      return {
        total_traces: list.size,
        total_spans: durations.count,
        spans_of_further_traces: further() > 0 ? further() : undefined,
        by_service: byService.toObject(20),
        by_status: { ok: list.size - errors.length, error: errors.length },
        spans_by_service: services.toObject(20),
        failed_spans: failed,
        root_duration_ms: roundedSummary(roots),
        span_duration_ms: roundedSummary(durations),
        error_traces: errors.slice(0, MAX_TRACES).map(summary),
        slow_traces: slow.slice(0, MAX_TRACES).map(summary),
        failed_span_list: failures.values(),
        slowest_spans: slowest.values(),
        operations: operations.top(),
      }
    },
  }
}

function spansByTrace() {
  const list = new Map<string, Trace>()
  let further = 0
  return {
    list,
    further: () => further,
    add(span: SpanFacts): void {
      const known = list.get(span.trace)
      if (known === undefined && list.size >= MAX_OPEN) return void further++
      const isRoot = span.parent === undefined
      const namedBy =
        known === undefined || (!known.rooted && (isRoot || span.durationMs > known.durationMs)) ? span : undefined
      list.set(span.trace, {
        id: span.trace,
        spans: (known?.spans ?? 0) + 1,
        error: known?.error === true || span.error || span.traceFailed === true,
        message: known?.message ?? span.message,
        durationMs: (namedBy ?? known)!.durationMs,
        rooted: namedBy === undefined ? known!.rooted : isRoot,
        name: (namedBy ?? known)!.name,
        service: (namedBy ?? known)!.service,
      })
    },
  }
}

function spansByOperation() {
  const operations = new Map<string, { stats: NumberStats; errors: number }>()
  return {
    add({ service, name, durationMs, error }: SpanFacts): void {
      const key = `${service}: ${shortText(name, 80)}`
      const found = operations.get(key) ?? { stats: new NumberStats(), errors: 0 }
      if (operations.size < MAX_OPERATIONS) operations.set(key, found)
      found.stats.add(durationMs)
      if (error) found.errors++
    },
    top: () =>
      [...operations]
        .sort((a, b) => b[1].stats.sum - a[1].stats.sum)
        .slice(0, TOP_OPERATIONS)
        .map(([operation, { stats, errors }]) => {
          const [p50, p95] = stats.percentiles([0.5, 0.95]) as [number, number]
          return {
            operation,
            count: stats.count,
            total_ms: rounded(stats.sum),
            p50: rounded(p50),
            p95: rounded(p95),
            max: rounded(stats.max),
            errors: errors > 0 ? errors : undefined,
          }
        }),
  }
}

const summary = (trace: Trace): Record<string, unknown> => ({
  trace_id: trace.id,
  duration_ms: rounded(trace.durationMs),
  root: shortText(trace.name, 80),
  service: trace.service,
  error: trace.message === undefined ? undefined : shortText(trace.message, 160),
  spans: trace.spans,
})

const facts = (span: SpanFacts): Record<string, unknown> => ({
  duration_ms: rounded(span.durationMs),
  name: shortText(span.name, 80),
  service: span.service,
  error: span.message === undefined ? undefined : shortText(span.message, 160),
  span_id: span.id,
  trace_id: span.trace,
})

/** One span, whatever tracer wrote it. Times in milliseconds. */
interface SpanFacts {
  readonly trace: string
  readonly id: string
  readonly parent?: string
  readonly service: string
  readonly name: string
  readonly durationMs: number
  readonly error: boolean
  readonly message?: string
  /** The trace says of itself that it failed, whatever its spans say. */
  readonly traceFailed?: true
}

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
  const parent = parentOf(span)
  const failure = failureOf(span, tags)
  return {
    trace: text(pick(span, 'traceID', 'traceId', 'trace_id')) ?? trace ?? 'unknown',
    id: id ?? '',
    parent: parent !== undefined && parent !== '' && parent !== '0' ? parent : undefined,
    service: serviceOf(span, tags) ?? service ?? 'unknown',
    name: text(pick(span, 'operationName', 'name', 'operation', 'displayName')) ?? 'unnamed',
    durationMs: duration ?? 0,
    error: failure.error,
    message: failure.message,
  }
}

function serviceOf(span: Record<string, unknown>, tags: Record<string, string>): string | undefined {
  const endpoint = span['localEndpoint']
  if (isRecord(endpoint)) return text(endpoint['serviceName'])
  const process = span['process']
  if (isRecord(process)) return text(process['serviceName'])
  return (
    text(pick(span, 'service', 'serviceName', 'service_name')) ??
    tags['service.name'] ??
    tags['g.co/gae/app/module'] ??
    tags['component']
  )
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
  const start = nanos(span['startTimeUnixNano'])
  const end = nanos(span['endTimeUnixNano'])
  if (start !== undefined && end !== undefined) return Number(end - start) / 1e6
  const from = Date.parse(text(pick(span, 'startTime', 'start_time')) ?? '')
  const to = Date.parse(text(pick(span, 'endTime', 'end_time')) ?? '')
  return Number.isNaN(from) || Number.isNaN(to) ? undefined : to - from
}

/** Nanoseconds since 1970 do not fit a double. */
function nanos(value: unknown): bigint | undefined {
  if (typeof value === 'number' && Number.isFinite(value)) return BigInt(Math.trunc(value))
  return typeof value === 'string' && /^\d{1,30}$/.test(value) ? BigInt(value) : undefined
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
