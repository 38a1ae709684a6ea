import { isRecord } from '../../core/values.ts'
import { number, pick, shortText, text } from './templates/template.ts'

/** One sentence about a tool's result, from its parsed value. Throwing or returning undefined leaves it to the default. */
export type ToolSummary = (result: unknown) => string | undefined

/** Summaries by tool name: views put them into their notice, and narratives of a conversation tell of results with them. */
export interface ToolRegistry {
  summarise(tool: string, result: unknown): string
  has(tool: string): boolean
  readonly tools: readonly string[]
}

const list = (value: unknown, ...keys: readonly string[]): readonly unknown[] | undefined => {
  if (Array.isArray(value)) return value
  const inner = isRecord(value) ? pick(value, ...keys) : undefined
  return Array.isArray(inner) ? inner : undefined
}

const field = (value: unknown, ...keys: readonly string[]): unknown =>
  isRecord(value) ? pick(value, ...keys) : undefined
const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
const sizeOf = (value: unknown): number | undefined =>
  Array.isArray(value) ? value.length : isRecord(value) ? Object.keys(value).length : number(value)

/** A number by the word in its name, where it stands itself or one level below, as in `latency.p99`; lists are data. */
function numberCalled(word: RegExp, value: unknown): number | undefined {
  if (!isRecord(value)) return undefined
  const own = Object.entries(value).find(([key, one]) => word.test(key) && number(one) !== undefined)
  if (own !== undefined) return number(own[1])
  const below = Object.values(value).map((one) =>
    isRecord(one) ? Object.entries(one).find(([key]) => word.test(key))?.[1] : undefined,
  )
  return below.map(number).find((one) => one !== undefined)
}

const P99 = /(?:^|_)p99/i

/** What is known, side by side; undefined when nothing is. Nothing is counted that the result does not hold. */
function said(...parts: readonly (string | undefined)[]): string | undefined {
  const known = parts.filter((part) => part !== undefined)
  return known.length === 0 ? undefined : known.join(', ')
}

/** A sentence about how many there are: the items of a list, else the count that the result names. */
const counting =
  (lists: readonly string[], counts: readonly string[], say: (count: number) => string): ToolSummary =>
  (result) => {
    const count = list(result, ...lists)?.length ?? number(field(result, ...counts))
    return count === undefined ? undefined : say(count)
  }

function isFailedSpan(span: unknown): boolean {
  if (!isRecord(span)) return false
  const status = isRecord(span['status']) ? span['status']['code'] : span['status']
  const isError = status === 2 || (typeof status === 'string' && /error/i.test(status))
  return isError || span['error'] === true || span['has_error'] === true
}

/** The eight tools that AutoSRE's summarizer knows. */
const AUTOSRE_SUMMARIES: Readonly<Record<string, ToolSummary>> = {
  fetch_trace(result) {
    const spans = list(result, 'spans')
    const count = spans?.length ?? number(field(result, 'span_count', 'total_spans', 'spans'))
    if (count === undefined) return undefined
    const duration = field(result, 'duration_ms', 'total_duration_ms', 'durationMs')
    const lasted = number(duration) === undefined ? text(field(result, 'duration')) : `${number(duration)} ms`
    const failed = spans?.filter(isFailedSpan).length ?? number(field(result, 'error_count', 'failed_spans')) ?? 0
    return `Fetched a trace of ${plural(count, 'span')}${lasted === undefined ? '' : `, ${shortText(lasted, 20)}`}, ${plural(failed, 'error')}`
  },
  list_traces: counting(['traces', 'items'], ['total_traces', 'count', 'total'], (n) => `Found ${plural(n, 'trace')}`),
  list_log_entries: counting(
    ['entries', 'logs', 'items'],
    ['entry_count', 'total_entries'],
    (n) => `Retrieved ${plural(n, 'log entry', 'log entries')}`,
  ),
  analyze_aggregate_metrics(result) {
    const rows = list(result, 'metrics', 'aggregates', 'results') ?? []
    const named = new Set(rows.map((row) => text(field(row, 'service', 'service_name'))).filter(Boolean))
    const services =
      sizeOf(field(result, 'services', 'services_analyzed', 'services_analysed', 'service_count')) ??
      (named.size > 0 ? named.size : undefined)
    const issues = sizeOf(field(result, 'issues', 'issues_found', 'issue_count', 'anomalies', 'anomaly_count'))
    return said(
      services === undefined ? undefined : `Analysed ${plural(services, 'service')}`,
      issues === undefined ? undefined : `found ${plural(issues, 'issue')}`,
    )
  },
  analyze_trace_comprehensive(result) {
    const p99 = numberCalled(P99, result)
    const errors = sizeOf(field(result, 'error_count', 'errors'))
    const way = field(result, 'critical_path', 'critical_path_length')
    const path = sizeOf(field(way, 'spans', 'path') ?? way)
    const facts = said(
      p99 === undefined ? undefined : `p99 ${p99} ms`,
      errors === undefined ? undefined : plural(errors, 'error'),
      path === undefined ? undefined : `critical path of ${plural(path, 'span')}`,
    )
    return facts === undefined ? undefined : `Trace analysis: ${facts}`
  },
  extract_log_patterns: counting(
    ['patterns', 'top_patterns', 'log_patterns', 'templates', 'clusters'],
    ['pattern_count', 'total_patterns'],
    (n) => `Extracted ${plural(n, 'log pattern')}`,
  ),
  query_promql(result) {
    const data = field(result, 'data') ?? result
    const results = list(data, 'result', 'results')
    const type = text(field(data, 'resultType', 'result_type'))
    // A scalar and a string are one value, written as a pair of time and value.
    const count = type === 'scalar' || type === 'string' ? 1 : (results?.length ?? number(field(data, 'total_series')))
    if (count === undefined) return undefined
    return `PromQL returned ${plural(count, 'result')}${type === undefined ? '' : ` of type ${type}`}`
  },
  list_time_series: counting(
    ['time_series', 'timeSeries', 'series', 'items'],
    ['total_series', 'count'],
    (n) => `Listed ${plural(n, 'time series', 'time series')}`,
  ),
}

/** AutoSRE hands the tool's whole response over; what counts is inside `result`. */
const unwrap = (value: unknown): unknown => (isRecord(value) && value['result'] !== undefined ? value['result'] : value)

/** Unknown tool, or a strategy that did not recognise its input: status and first keys, or the number of items. */
function defaultSummary(tool: string, response: unknown): string {
  const result = unwrap(response)
  if (Array.isArray(result)) return `${tool} returned ${plural(result.length, 'item')}`
  if (isRecord(result)) {
    const status = text(field(response, 'status')) ?? text(result['status'])
    const keys = Object.keys(result)
    const shown = keys
      .slice(0, 5)
      .map((key) => shortText(key, 40))
      .join(', ')
    return `${tool}${status === undefined ? '' : ` (${shortText(status, 40)})`} returned keys ${shown}${keys.length > 5 ? ', …' : ''}`
  }
  return `${tool} returned ${shortText(text(result) ?? String(result), 200)}`
}

export function createToolRegistry(own: Readonly<Record<string, ToolSummary>> = {}): ToolRegistry {
  const summaries = new Map(Object.entries({ ...AUTOSRE_SUMMARIES, ...own }))
  return {
    summarise(tool, response) {
      try {
        return summaries.get(tool)?.(unwrap(response)) ?? defaultSummary(tool, response)
      } catch {
        // A strategy's fault must not cost the result its summary.
        return defaultSummary(tool, response)
      }
    },
    has: (tool) => summaries.has(tool),
    tools: [...summaries.keys()],
  }
}
