import type { Usage } from '../core/usage.ts'

/** Usage that says nothing is no usage. */
export const isKnownUsage = (usage: Usage | undefined): usage is Usage =>
  usage !== undefined && (usage.input > 0 || usage.output > 0)

/**
 * Usage from outside, as far as it is one: whole parts that cannot be told are unknown, and so is what they would add up to. Parts of the
 * prompt and of the answer that are not named count as none of it.
 */
export function checkedUsage(usage: Partial<Record<keyof Usage, unknown>> | undefined): Usage | undefined {
  if (usage === undefined || usage === null || !isAmount(usage.input) || !isAmount(usage.output)) return undefined
  const part = (value: unknown): number => (isAmount(value) ? value : 0)
  const { input, output } = usage
  return {
    input,
    cacheRead: Math.min(input, part(usage.cacheRead)),
    cacheWrite: Math.min(input, part(usage.cacheWrite)),
    ...(isAmount(usage.cacheWriteLong) && { cacheWriteLong: usage.cacheWriteLong }),
    output,
    reasoning: Math.min(output, part(usage.reasoning)),
  }
}

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0
