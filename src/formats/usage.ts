import type { Usage } from '../core/usage.ts'
import { type Fields, isRecord } from '../core/values.ts'
import { wires } from './wires.ts'
import { amount, amountsOf, has, type UsageShape } from './wire/wire.ts'

/** Reports of servers whose wire we do not speak. Bedrock's prompt is without its cached part. */
const OTHERS: readonly UsageShape[] = [
  {
    fits: (fields) => has(fields, 'inputTokens'),
    read: (fields) => {
      const cacheRead = amount(fields, 'cacheReadInputTokens')
      const cacheWrite = amount(fields, 'cacheWriteInputTokens')
      const input = amount(fields, 'inputTokens') + cacheRead + cacheWrite
      return { input, cacheRead, cacheWrite, output: amount(fields, 'outputTokens'), reasoning: 0 }
    },
  },
]

/**
 * Normalised usage from what a provider reported, recognised by its field names. Undefined for nothing, and for all zeros: a server
 * that counts nothing sends zeros, and no request has no tokens.
 */
export function readUsage(reported: unknown): Usage | undefined {
  if (!isRecord(reported)) return undefined
  const shape = [...wires.map((wire) => wire.usage), ...OTHERS].find(({ fits }) => fits(reported))
  const usage = shape === undefined ? undefined : amountsOf(shape.read(reported))
  return usage === undefined || (usage.input === 0 && usage.output === 0) ? undefined : usage
}

/**
 * Merges what a stream reports piece by piece. Every vendor sends running totals, so the largest value of each field is the last
 * one; a later event that leaves a field out or sends zero takes nothing back.
 */
export function mergeReported(earlier: Fields, later: Fields): Fields {
  const merged: Record<string, unknown> = { ...earlier }
  for (const [name, value] of Object.entries(later)) {
    const before = merged[name]
    if (typeof value === 'number' && typeof before === 'number') merged[name] = Math.max(before, value)
    else if (isRecord(value) && isRecord(before)) merged[name] = mergeReported(before, value)
    else if (value !== null && value !== undefined) merged[name] = value
  }
  return merged
}
