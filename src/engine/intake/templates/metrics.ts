import { Counter } from '../json/stats.ts'
import { isRecord } from '../../../core/values.ts'
import { pick, shortText, text, type Template } from './template.ts'

const TOP = 20
const DESCRIPTION_CHARS = 100

/** Metric descriptors: what there is to query. */
export function metricsTemplate(): Template {
  let total = 0
  const kinds = new Counter()
  const valueTypes = new Counter()
  const domains = new Counter()
  const labels = new Counter()
  const units = new Counter()
  const top: Record<string, unknown>[] = []
  return {
    name: 'metrics',
    add(record) {
      total++
      if (!isRecord(record)) return
      const type = text(pick(record, 'type', 'name', 'metric_type', 'metricType', 'metric')) ?? 'unknown'
      const kind = text(pick(record, 'metricKind', 'metric_kind', 'kind')) ?? 'UNKNOWN'
      const valueType = text(pick(record, 'valueType', 'value_type')) ?? 'UNKNOWN'
      kinds.add(kind)
      valueTypes.add(valueType)
      domains.add(type.split(/[/.]/)[0]!)
      const unit = text(record['unit'])
      if (unit !== undefined) units.add(unit)
      if (Array.isArray(record['labels'])) {
        for (const label of record['labels'].slice(0, 50)) {
          labels.add(isRecord(label) ? (text(label['key']) ?? 'unknown') : String(label))
        }
      }
      if (top.length < TOP) {
        const description = text(pick(record, 'description', 'displayName', 'display_name', 'help'))
        top.push({
          type,
          kind,
          value_type: valueType,
          ...(description !== undefined && { description: shortText(description, DESCRIPTION_CHARS) }),
        })
      }
    },
    finish: () => ({
      total_metrics: total,
      by_kind: kinds.toObject(),
      by_value_type: valueTypes.toObject(),
      ...(domains.size > 1 && { by_domain: domains.toObject(12) }),
      ...(units.size > 0 && { by_unit: units.toObject(8) }),
      ...(labels.size > 0 && { labels: labels.toObject(15) }),
      top_metrics: top,
    }),
  }
}
