import { genericTemplate } from './generic.ts'
import { logsTemplate } from './logs.ts'
import { metricsTemplate } from './metrics.ts'
import type { Template, TemplateName } from './template.ts'
import { timeseriesTemplate } from './timeseries.ts'
import { tracesTemplate } from './traces.ts'

export type { Template, TemplateName } from './template.ts'

export const TEMPLATES: Readonly<Record<TemplateName, () => Template>> = {
  metrics: metricsTemplate,
  timeseries: timeseriesTemplate,
  logs: logsTemplate,
  traces: tracesTemplate,
  generic: genericTemplate,
}

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
export function runTemplate(name: TemplateName, records: Iterable<unknown>): Record<string, unknown> {
  const template = TEMPLATES[name]()
  for (const record of records) template.add(record)
  return template.finish()
}
