import type { Usage } from '../../core/usage.ts'
import { type Fields, recordOf } from '../../core/values.ts'

/** Token counts as a vendor reports them. */
export interface UsageShape {
  /** Whether these are this vendor's words. */
  fits(reported: Fields): boolean
  read(reported: Fields): Usage
}

/**
 * A report without prompt tokens is none: a server that counts nothing sends zeros, and no prompt is empty. Neither is one whose prompt or
 * answer is said to be negative or no number; parts of them that are wrong count as not said.
 */
export function knownUsage({ read }: UsageShape, reported: unknown): Usage | undefined {
  const fields = recordOf(reported)
  if (fields === undefined) return undefined
  const usage = read(fields)
  return usage.input > 0 && usage.output >= 0 ? amountsOf(usage) : undefined
}

/** The same with nothing for each number that was wrong. */
export const amountsOf = ({ cacheWriteLong, ...usage }: Usage): Usage => ({
  input: usage.input || 0,
  cacheRead: usage.cacheRead || 0,
  cacheWrite: usage.cacheWrite || 0,
  ...(cacheWriteLong !== undefined && { cacheWriteLong: cacheWriteLong || 0 }),
  output: usage.output || 0,
  reasoning: usage.reasoning || 0,
})

export const has = (fields: Fields, name: string): boolean => typeof fields[name] === 'number'

export const nested = (fields: Fields, name: string): Fields => recordOf(fields[name]) ?? {}

/** What is not said is none; NaN stands for what is negative or no number. */
export function amount(fields: Fields, name: string): number {
  const value = fields[name] ?? 0
  return typeof value === 'number' && value >= 0 && Number.isFinite(value) ? value : NaN
}
