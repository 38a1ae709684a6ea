import { PlimsollError } from '../../core/errors.ts'
import { recordOf, type Fields } from '../../core/values.ts'

/** Small readers shared by the codecs: they turn a wrong type into an error that names the place. */

export function badInput(format: string, path: string, expected: string): PlimsollError {
  return new PlimsollError('bad-input', `${format}: ${path} should be ${expected}.`, { fields: { format, path } })
}

export function arrayOf(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined
}

/** The elements of a list, each checked to be an object; those before `from` were. */
export function objectsIn(list: readonly unknown[], format: string, path: string, from = 0): readonly Fields[] {
  for (let i = from; i < list.length; i++)
    if (recordOf(list[i]) === undefined) throw badInput(format, `${path}[${i}]`, 'an object')
  return list as readonly Fields[]
}

/** Optional properties must be absent, not undefined, under exactOptionalPropertyTypes. */
export function defined<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const fields = value as Record<string, unknown>
  const out: Record<string, unknown> = {}
  // Called for every item of a body: no list of entries is made.
  for (const key in fields) if (fields[key] !== undefined) out[key] = fields[key]
  return out as { [K in keyof T]: Exclude<T[K], undefined> }
}
