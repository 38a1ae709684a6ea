import { Counter, NumberStats, rounded, roundedSummary } from '../json/fields.ts'
import { isRecord } from '../../../core/values.ts'
import { Largest, number, pick, shortText, text, type Template } from './template.ts'

const TOP_SERIES = 50
const MAX_ANOMALIES = 10
/** Distance from the median, in scaled median deviations, from which a point is called an anomaly. */
const ANOMALY = 6
/** The median deviation of a normal distribution is this share of its standard deviation. */
const MAD_SCALE = 0.6745
const MIN_POINTS = 8

interface Point {
  readonly time?: string
  readonly value: number
}

/** Series of points, in the forms of Cloud Monitoring and Prometheus. */
export function timeseriesTemplate(): Template {
  let total = 0
  let points = 0
  const metrics = new Counter()
  const resources = new Counter()
  const all = new NumberStats()
  const series = new Largest<Record<string, unknown>>(TOP_SERIES)
  const anomalies = new Largest<Record<string, unknown>>(MAX_ANOMALIES)
  let empty = 0
  return {
    name: 'timeseries',
    add(record) {
      total++
      if (!isRecord(record)) return
      const metric = metricName(record)
      metrics.add(metric)
      const resource = isRecord(record['resource']) ? text(record['resource']['type']) : text(record['resource_type'])
      if (resource !== undefined) resources.add(resource)
      const list = pointsOf(record)
      points += list.length
      if (list.length === 0) {
        empty++
        return
      }
      const stats = new NumberStats()
      for (const { value } of list) {
        stats.add(value)
        all.add(value)
      }
      const { oldest, newest } = endsOf(list)
      series.offer(list.length, () => ({
        metric,
        ...labelsOf(record),
        points: list.length,
        latest: rounded(newest.value),
        ...roundedSummary(stats),
        from: oldest.time,
        to: newest.time,
      }))
      findAnomalies(list, stats, (score, point) =>
        anomalies.offer(score, () => ({
          value: rounded(point.value),
          time: point.time,
          metric,
          ...labelsOf(record),
          deviations: rounded(score),
        })),
      )
    },
    finish: () => ({
      total_series: total,
      total_points: points,
      empty_series: empty > 0 ? empty : undefined,
      by_metric: metrics.toObject(20),
      by_resource: resources.size > 0 ? resources.toObject(20) : undefined,
      values: all.count > 0 ? roundedSummary(all) : undefined,
      anomalies: anomalies.values(),
      series: series.values(),
    }),
  }
}

function metricName(record: Record<string, unknown>): string {
  const metric = record['metric']
  if (isRecord(metric)) return text(pick(metric, 'type', '__name__', 'name')) ?? 'unnamed'
  return text(pick(record, 'metric', 'metric_type', 'name', 'target')) ?? 'unnamed'
}

/** Labels as one text: what tells series apart has to survive when room is short. */
function labelsOf(record: Record<string, unknown>): { labels?: string } {
  const metric = record['metric']
  const resource = record['resource']
  const sources = [
    isRecord(metric) ? (isRecord(metric['labels']) ? metric['labels'] : metric) : undefined,
    record['labels'],
    isRecord(resource) ? resource['labels'] : undefined,
  ]
  const out: Record<string, string> = {}
  for (const source of sources) {
    if (!isRecord(source)) continue
    for (const [key, value] of Object.entries(source)) {
      const label = text(value)
      if (label !== undefined && key !== '__name__' && key !== 'type' && Object.keys(out).length < 6)
        out[key] = shortText(label, 60)
    }
  }
  const pairs = Object.entries(out).map(([key, value]) => `${key}=${value}`)
  return pairs.length === 0 ? {} : { labels: pairs.join(' ') }
}

function pointsOf(record: Record<string, unknown>): Point[] {
  const list = pick(record, 'points', 'values')
  if (Array.isArray(list)) return list.map(pointOf).filter((point) => point !== undefined)
  const single = record['value']
  const point = Array.isArray(single) ? pointOf(single) : undefined
  return point === undefined ? [] : [point]
}

function pointOf(raw: unknown): Point | undefined {
  if (Array.isArray(raw)) {
    // Prometheus writes [time, "value"].
    const value = number(raw[1])
    return value === undefined ? undefined : { time: String(raw[0]), value }
  }
  if (!isRecord(raw)) {
    const value = number(raw)
    return value === undefined ? undefined : { value }
  }
  const interval = raw['interval']
  const time = text(
    isRecord(interval) ? pick(interval, 'endTime', 'end_time', 'startTime') : pick(raw, 'timestamp', 'time', 'ts'),
  )
  const value = valueOf(raw['value'])
  return value === undefined ? undefined : { value, time }
}

function valueOf(raw: unknown): number | undefined {
  if (!isRecord(raw)) return number(raw)
  const inner = pick(raw, 'doubleValue', 'double_value', 'int64Value', 'int64_value', 'distributionValue')
  return isRecord(inner) ? number(inner['mean']) : number(inner)
}

/** APIs differ in their order: the newest point is the one with the latest time. */
function endsOf(points: readonly Point[]): { readonly oldest: Point; readonly newest: Point } {
  const [first, last] = [points[0]!, points[points.length - 1]!]
  return (first.time ?? '') <= (last.time ?? '') ? { oldest: first, newest: last } : { oldest: last, newest: first }
}

function findAnomalies(
  points: readonly Point[],
  stats: NumberStats,
  found: (score: number, point: Point) => void,
): void {
  if (points.length < MIN_POINTS) return
  const [median] = stats.percentiles([0.5]) as [number]
  const deviation = stats.deviation(median)
  if (deviation === undefined) return
  // A flat series has no deviation: then any point off the line counts, measured against the whole range.
  const unit = deviation > 0 ? deviation / MAD_SCALE : (stats.max - stats.min) / 100
  if (unit === 0) return
  for (const point of points) {
    const score = Math.abs(point.value - median) / unit
    if (score >= ANOMALY) found(score, point)
  }
}
