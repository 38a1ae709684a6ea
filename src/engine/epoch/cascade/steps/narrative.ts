import type { Item } from '../../../../core/item.ts'
import { isRecord } from '../../../../core/values.ts'
import { cutHead } from '../../../intake/text.ts'

/** AutoSRE's limits per event, in characters; the dots count. */
const LIMITS = { user: 200, assistant: 150, other: 100, output: 200, error: 100, finding: 100 } as const

/** One line per event of an investigation, then what was found. */
export function narrative(items: readonly Item[]): string[] {
  const lines = items.map(lineOf).filter((line) => line !== undefined)
  const findings = items.flatMap((item) => (item.kind === 'result' ? findingsIn(item) : []))
  return findings.length === 0 ? lines : [...lines, 'Key findings:', ...findings.slice(-10).map((one) => `- ${one}`)]
}

function lineOf(item: Item): string | undefined {
  if (item.kind === 'call') return `Called tool: ${item.toolName ?? 'unknown'}`
  if (item.kind === 'result') return resultLine(item)
  if (item.text.trim() === '') return undefined
  if (item.kind === 'user') return `User: ${clip(item.text, LIMITS.user)}`
  if (item.kind === 'assistant' || item.kind === 'reasoning') return `Thought: ${clip(item.text, LIMITS.assistant)}`
  return clip(item.text, LIMITS.other)
}

export function resultLine({ toolName = 'unknown', text, isError }: Item): string {
  if (isError === true) return `${toolName} failed: ${clip(text, LIMITS.error)}`
  const response = parse(text)
  if (response === undefined) return `${toolName}: ${clip(text, LIMITS.output)}`
  const result = isRecord(response) && 'result' in response ? response['result'] : response
  const strategy = STRATEGIES[toolName]
  try {
    return `${toolName}: ${(strategy ?? unknownTool)(result)}`
  } catch {
    return `${toolName}: ${unknownTool(result)}`
  }
}

/** What the design takes from the outputs of the tools that it knows. */
const STRATEGIES: Readonly<Record<string, (result: unknown) => string>> = {
  fetch_trace: (result) => {
    const spans = listIn(result, 'spans')
    const duration = field(result, 'duration_ms')
    const errors = spans.filter(
      (span) => isRecord(span) && (span['error'] === true || span['status'] === 'ERROR'),
    ).length
    return `Trace with ${spans.length} spans${duration === undefined ? '' : `, ${duration} ms`}, ${errors} errors`
  },
  list_traces: (result) => `Found ${listIn(result, 'traces').length} traces`,
  list_log_entries: (result) => {
    const count = isRecord(result) && typeof result['entry_count'] === 'number' ? result['entry_count'] : undefined
    return `Retrieved ${count ?? listIn(result, 'entries').length} log entries`
  },
  analyze_aggregate_metrics: (result) =>
    `Analysed ${listIn(result, 'services').length} services, ${listIn(result, 'issues').length} issues`,
  analyze_trace_comprehensive: (result) =>
    `p99 ${field(result, 'p99') ?? 'unknown'}, ${field(result, 'error_count') ?? 0} errors, critical path of ${listIn(result, 'critical_path').length}`,
  extract_log_patterns: (result) => `Found ${listIn(result, 'patterns').length} patterns`,
  query_promql: (result) =>
    `${listIn(result, 'data').length} results of type ${field(result, 'resultType') ?? 'unknown'}`,
  list_time_series: (result) => `Found ${listIn(result, 'time_series').length} time series`,
}

function unknownTool(result: unknown): string {
  if (Array.isArray(result)) return `${result.length} items`
  if (!isRecord(result)) return clip(String(result), LIMITS.output)
  const status = result['status']
  const keys = Object.keys(result).slice(0, 5).join(', ')
  return typeof status === 'string' ? `status ${status}; ${keys}` : keys
}

function findingsIn({ text, toolName = 'unknown' }: Item): string[] {
  const response = parse(text)
  const result = isRecord(response) && isRecord(response['result']) ? response['result'] : response
  if (!isRecord(result)) return []
  const named = ['root_cause', 'bottleneck'].flatMap((key) =>
    result[key] === undefined || result[key] === null
      ? []
      : [`${key.replace('_', ' ')}: ${clip(asText(result[key]), LIMITS.finding)} (${toolName})`],
  )
  const anomalies = result['anomalies']
  return Array.isArray(anomalies) && anomalies.length > 0
    ? [...named, `${anomalies.length} anomalies (${toolName})`]
    : named
}

function parse(text: string): unknown {
  const first = text.trimStart()[0]
  if (first !== '{' && first !== '[') return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const asText = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))

function field(result: unknown, key: string): string | undefined {
  const value = isRecord(result) ? result[key] : undefined
  return value === undefined || value === null ? undefined : asText(value)
}

function listIn(result: unknown, key: string): readonly unknown[] {
  if (Array.isArray(result)) return result
  const value = isRecord(result) ? result[key] : undefined
  return Array.isArray(value) ? value : []
}

/** Cut inside the limit, dots included. */
export const clip = (text: string, characters: number): string => {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= characters ? line : `${cutHead(line, characters - 3)}...`
}
