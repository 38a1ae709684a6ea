import { isRecord } from '../../../core/values.ts'
import { Counter, Fields, typeName } from '../../intake/json/fields.ts'
import { jsonText } from '../../intake/json/json-view.ts'
import { logsTemplate } from '../../intake/logs/log-view.ts'
import { pick, shortText, type Template, text } from '../../intake/templates/template.ts'
import { timeseriesTemplate } from '../../intake/templates/timeseries.ts'
import { tracesTemplate } from './traces.ts'

const TEMPLATES = {
  metrics: metricsTemplate,
  timeseries: timeseriesTemplate,
  logs: logsTemplate,
  traces: tracesTemplate,
  generic: genericTemplate,
} satisfies Readonly<Record<string, () => Template>>

export type TemplateName = keyof typeof TEMPLATES

/** AutoSRE's known tools and the template that each is routed to. */
export const TOOL_TEMPLATES: Readonly<Record<string, TemplateName>> = {
  list_metric_descriptors: 'metrics',
  list_metrics: 'metrics',
  list_time_series: 'timeseries',
  query_promql: 'timeseries',
  list_log_entries: 'logs',
  list_traces: 'traces',
  fetch_trace: 'traces',
}

/** Runs a template over values that are already in memory. */
export function runTemplate(name: TemplateName, records: readonly unknown[]): Record<string, unknown> {
  const template = TEMPLATES[name]()
  for (const record of records) template.add(record)
  return template.finish()
}

const TOP_FIELDS = 20
const SAMPLES = 5
const SAMPLE_CHARS = 500
const MAX_KEYS = 20

/** Any list of records: its fields with types, presence and statistics, and a few samples. */
function genericTemplate(): Template {
  const fields = new Fields()
  const samples: string[] = []
  return {
    name: 'generic',
    add(record) {
      fields.add(record)
      if (samples.length < SAMPLES) samples.push(shortText(jsonText(record), SAMPLE_CHARS))
    },
    finish: () => ({
      total_items: fields.records,
      top_fields: Object.fromEntries(fields.names().slice(0, TOP_FIELDS)),
      fields: Object.fromEntries(
        fields
          .report()
          .slice(0, 60)
          .map(({ path, text }) => [path, text]),
      ),
      samples,
    }),
  }
}

/** A single object: how many keys and what the first of them hold. */
export function describeObject(value: Record<string, unknown>): Record<string, unknown> {
  const keys = Object.keys(value)
  return {
    total_keys: keys.length,
    value_types: Object.fromEntries(keys.slice(0, MAX_KEYS).map((key) => [key, typeName(value[key])])),
  }
}

const TOP = 20
const DESCRIPTION_CHARS = 100

/** Metric descriptors: what there is to query. */
function metricsTemplate(): Template {
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
          description: description === undefined ? undefined : shortText(description, DESCRIPTION_CHARS),
        })
      }
    },
    finish: () => ({
      total_metrics: total,
      by_kind: kinds.toObject(),
      by_value_type: valueTypes.toObject(),
      by_domain: domains.size > 1 ? domains.toObject(12) : undefined,
      by_unit: units.size > 0 ? units.toObject(8) : undefined,
      labels: labels.size > 0 ? labels.toObject(15) : undefined,
      top_metrics: top,
    }),
  }
}
