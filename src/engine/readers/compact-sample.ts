import { isRecord } from '../../core/values.ts'
import { cutBytes, grouped } from './reader.ts'

const SAMPLE_ITEMS = 3
const SAMPLE_CHARACTERS = 2000
const SCHEMA_FIELDS = 30

/** The first three items within 2,000 characters, and the names and types of their fields. */
export function compactSample(text: string, totalBytes: number): string {
  const items = itemsOf(text)
  const first = items[0]
  const schema = isRecord(first)
    ? `\nFields: ${Object.entries(first)
        .slice(0, SCHEMA_FIELDS)
        .map(([name, value]) => `${name} ${typeName(value)}`)
        .join(', ')}`
    : ''
  const shown = items.slice(0, SAMPLE_ITEMS).map((item) => (typeof item === 'string' ? item : JSON.stringify(item)))
  const each = Math.floor(SAMPLE_CHARACTERS / Math.max(1, shown.length))
  const sample = shown.map((item) => (item.length > each ? `${cutBytes(item, each)}...` : item)).join('\n')
  return `A sample of ${grouped(totalBytes)} bytes:${schema}\n${sample}`
}

/** Of a JSON array, of the largest array in a JSON object, or of lines. */
function itemsOf(text: string): unknown[] {
  try {
    const value = JSON.parse(text) as unknown
    if (Array.isArray(value)) return value
    if (typeof value !== 'object' || value === null) return [value]
    const arrays = Object.values(value).filter((each): each is unknown[] => Array.isArray(each))
    return arrays.sort((a, b) => b.length - a.length)[0] ?? [value]
  } catch {
    return text.split('\n', SAMPLE_ITEMS)
  }
}

const typeName = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)
