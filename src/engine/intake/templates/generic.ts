import { Fields, typeName } from '../json/fields.ts'
import { isRecord } from '../../../core/values.ts'
import { shortText, type Template } from './template.ts'

const TOP_FIELDS = 20
const SAMPLES = 5
const SAMPLE_CHARS = 500
const MAX_KEYS = 20

/** Any list of records: its fields with types, presence and statistics, and a few samples. */
export function genericTemplate(): Template {
  const fields = new Fields()
  const samples: string[] = []
  return {
    name: 'generic',
    add(record) {
      fields.add(record)
      if (samples.length < SAMPLES) samples.push(shortText(writeBounded(record), SAMPLE_CHARS))
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

/** JSON text of a value, stopped early: nothing of a huge value is written beyond what is shown. */
export function writeBounded(value: unknown, chars = 4_000, depth = 8): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null'
  if (depth === 0) return Array.isArray(value) ? '["…"]' : '{"…":"…"}'
  const parts: string[] = []
  let used = 0
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value)) {
    const item = (value as Record<string | number, unknown>)[key]
    const text =
      typeof item === 'string' && item.length > chars
        ? JSON.stringify(shortText(item, chars))
        : writeBounded(item, chars - used, depth - 1)
    parts.push(Array.isArray(value) ? text : `${JSON.stringify(key)}:${text}`)
    used += text.length + String(key).length
    if (used > chars) break
  }
  return isRecord(value) ? `{${parts.join(',')}}` : `[${parts.join(',')}]`
}
