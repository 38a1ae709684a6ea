import { PlimsollError } from '../core/errors.ts'
import type { JsonNode } from './json-index.ts'

/** Small readers shared by the codecs: they turn a wrong type into an error that names the place. */

export function badInput(format: string, path: string, expected: string): PlimsollError {
  return new PlimsollError('bad-input', `${format}: ${path} should be ${expected}.`, { fields: { format, path } })
}

export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

export function recordOf(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

export function arrayOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** The elements of an array node, each checked to be an object. */
export function objectsIn(node: JsonNode, format: string, path: string): readonly JsonNode[] {
  const items = node.items ?? []
  for (const [i, item] of items.entries())
    if (item.type !== 'object') throw badInput(format, `${path}[${i}]`, 'an object')
  return items
}

/** Optional properties must be absent, not undefined, under exactOptionalPropertyTypes. */
export function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const out: Record<string, unknown> = {}
  for (const [key, inner] of Object.entries(value)) if (inner !== undefined) out[key] = inner
  return out as { [K in keyof T]: Exclude<T[K], undefined> }
}
