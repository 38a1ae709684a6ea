import type { Usage } from '../../core/usage.ts'
import { type Fields, recordOf } from '../../core/values.ts'

/** Token counts as a vendor reports them. */
export interface UsageShape {
  /** Whether these are this vendor's words. */
  fits(reported: Fields): boolean
  read(reported: Fields): Usage
}

/** A report without prompt tokens is none: a server that counts nothing sends zeros, and no prompt is empty. */
export function knownUsage({ read }: UsageShape, reported: unknown): Usage | undefined {
  const fields = recordOf(reported)
  const usage = fields === undefined ? undefined : read(fields)
  return usage === undefined || usage.input === 0 ? undefined : usage
}

export const has = (fields: Fields, name: string): boolean => typeof fields[name] === 'number'

export const nested = (fields: Fields, name: string): Fields => recordOf(fields[name]) ?? {}

/** Never negative, never no number. */
export function amount(fields: Fields, name: string): number {
  const value = fields[name]
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : 0
}
