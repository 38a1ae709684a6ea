import type { PlimsollEvent } from '../../core/events.ts'

/** Counts events for Prometheus. Labels are few and never carry names of sessions or tenants. */
export interface Metrics {
  take(event: PlimsollEvent): void
  /** The text exposition format. */
  text(): string
}

/** What each family means. Its name says its type: counters end in `_total`. */
const FAMILIES: Readonly<Record<string, string>> = {
  plimsoll_requests_prepared_total: 'Requests that were made to fit, by verdict.',
  plimsoll_requests_forwarded_total: 'Answers passed on, by class of their status.',
  plimsoll_request_duration_seconds: 'From the first byte of a request to the last byte of its answer.',
  plimsoll_load_ratio: 'Load of a request as a share of its limit.',
  plimsoll_epochs_total: 'Compactions, by whether they were forced.',
  plimsoll_fetched_again_tokens_total:
    'Tokens that calls brought back within 30 answers of the compaction that had taken them out, by call or reader.',
  plimsoll_fetched_again_cost_usd_total: 'The same at the price of input.',
  plimsoll_epoch_tokens_saved_total: 'Tokens that compactions took out of prompts.',
  plimsoll_offloaded_total: 'Results shown as preview and handle.',
  plimsoll_offloaded_bytes_total: 'Bytes of those results that were not shown.',
  plimsoll_overflows_recovered_total: 'Overflows that were recovered without an error for the client.',
  plimsoll_tokens_total: 'Tokens as the providers counted them, by kind.',
  plimsoll_cost_usd_total: 'Cost of all calls with a known price.',
  plimsoll_cache_missed_tokens_total: 'Tokens that could have been read from the cache, by cause.',
  plimsoll_cache_missed_usd_total: 'What those cost more than reading them, by cause.',
  plimsoll_cache_predictions_total: 'Calls by what was predicted of the cache and what came.',
  plimsoll_quota_used_ratio: 'Share of a rate limit or subscription window that is used, by credential.',
  plimsoll_saved_usd: 'What calls cost less for us, net, since the start; below zero where they cost more.',
  plimsoll_usage_missing_total: 'Answers without usage.',
  plimsoll_warnings_total: 'Warnings and degradations, by topic.',
}

/** Credentials and windows come from outside: more of them are not told apart. */
const MOST_LABELS = 200

const DURATION_SECONDS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300]
const LOAD_SHARES = [0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1]

/** Kinds of tokens, each with its label. */
const TOKENS = (['input', 'cacheRead', 'cacheWrite', 'output', 'reasoning'] as const).map(
  (kind) => [kind, `kind="${kind}"`] as const,
)

/** How often values were at most as large as each bound. */
interface Histogram {
  readonly bounds: readonly number[]
  readonly counts: number[]
  count: number
  sum: number
}

const histogram = (bounds: readonly number[]): Histogram => ({ bounds, counts: bounds.map(() => 0), count: 0, sum: 0 })

function observe(into: Histogram, value: number): void {
  for (let i = 0; i < into.bounds.length; i++) if (value <= into.bounds[i]!) into.counts[i]!++
  into.count++
  into.sum += value
}

function linesOf(family: string, { bounds, counts, count, sum }: Histogram): string[] {
  if (count === 0) return []
  return [
    ...bounds.map((bound, i) => `${family}_bucket{le="${bound}"} ${counts[i]}`),
    `${family}_bucket{le="+Inf"} ${count}`,
    `${family}_sum ${sum}`,
    `${family}_count ${count}`,
  ]
}

export function createMetrics(): Metrics {
  const values = new Map<string, Map<string, number>>()
  const load = histogram(LOAD_SHARES)
  const duration = histogram(DURATION_SECONDS)
  const histograms: Readonly<Record<string, Histogram>> = {
    plimsoll_load_ratio: load,
    plimsoll_request_duration_seconds: duration,
  }
  const change = (family: string, labels: string, to: (before: number) => number): void => {
    const series = values.get(family) ?? new Map<string, number>()
    values.set(family, series)
    if (series.has(labels) || series.size < MOST_LABELS) series.set(labels, to(series.get(labels) ?? 0))
  }
  const add = (family: string, labels: string, by = 1): void => change(family, labels, (before) => before + by)
  return {
    take(event) {
      switch (event.type) {
        case 'request-prepared':
          add('plimsoll_requests_prepared_total', `verdict="${event.verdict}"`)
          return observe(load, event.load / Math.max(1, event.limit))
        case 'request-forwarded':
          add('plimsoll_requests_forwarded_total', `status="${Math.floor(event.status / 100)}xx"`)
          return observe(duration, event.durationMs / 1000)
        case 'epoch-declared':
          add('plimsoll_epochs_total', `forced="${event.forced}"`)
          return add('plimsoll_epoch_tokens_saved_total', '', Math.max(0, event.before - event.after))
        case 'fetched-again':
          add('plimsoll_fetched_again_tokens_total', `by="${event.by}"`, event.tokens)
          return add('plimsoll_fetched_again_cost_usd_total', '', event.costUsd ?? 0)
        case 'item-offloaded':
          add('plimsoll_offloaded_total', '')
          return add('plimsoll_offloaded_bytes_total', '', Math.max(0, event.originalBytes - event.shownBytes))
        case 'overflow-recovered':
          return add('plimsoll_overflows_recovered_total', '')
        case 'usage-recorded':
          for (const [kind, label] of TOKENS) add('plimsoll_tokens_total', label, event.usage[kind])
          if (event.cache !== undefined && event.cache.expected > 0) {
            const came = event.usage.cacheRead < event.cache.expected / 2 ? 'cold' : 'warm'
            add('plimsoll_cache_predictions_total', `predicted="${event.cache.predicted}",came="${came}"`)
          }
          add('plimsoll_saved_usd', '', event.savedUsd ?? 0)
          return add('plimsoll_cost_usd_total', '', event.costUsd ?? 0)
        case 'quota-seen':
          return change(
            'plimsoll_quota_used_ratio',
            `credential=${JSON.stringify(event.credential)},window=${JSON.stringify(event.window)}`,
            () => event.used,
          )
        case 'cache-missed':
          add('plimsoll_cache_missed_tokens_total', `cause="${event.cause}"`, event.tokens)
          return add('plimsoll_cache_missed_usd_total', `cause="${event.cause}"`, event.usd ?? 0)
        case 'usage-missing':
          return add('plimsoll_usage_missing_total', '')
        case 'warning':
          return add('plimsoll_warnings_total', `topic=${JSON.stringify(event.topic)}`)
        case 'degraded':
          return add('plimsoll_warnings_total', 'topic="degraded"')
        default:
          return undefined
      }
    },
    text() {
      const lines: string[] = []
      for (const [family, help] of Object.entries(FAMILIES)) {
        const spread = histograms[family]
        const type = family.endsWith('_total') ? 'counter' : spread === undefined ? 'gauge' : 'histogram'
        lines.push(`# HELP ${family} ${help}`, `# TYPE ${family} ${type}`)
        if (spread !== undefined) lines.push(...linesOf(family, spread))
        for (const [labels, value] of values.get(family) ?? [])
          lines.push(`${family}${labels === '' ? '' : `{${labels}}`} ${value}`)
      }
      return `${lines.join('\n')}\n`
    },
  }
}
