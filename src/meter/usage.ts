import type { Usage } from '../core/usage.ts'
import type { Writable } from '../util/writable.ts'

/** Usage that says nothing is no usage. */
export const isKnownUsage = (usage: Usage | undefined): usage is Usage =>
  usage !== undefined && (usage.input > 0 || usage.output > 0)

/**
 * Usage from outside, as far as it is one: whole parts that cannot be told are unknown, and so is what they would add up to. Parts of the
 * prompt and of the answer that are not named count as none of it.
 */
export function checkedUsage(usage: Partial<Record<keyof Usage, unknown>> | undefined): Usage | undefined {
  if (usage === undefined || usage === null || !isAmount(usage.input) || !isAmount(usage.output)) return undefined
  const { input, output } = usage
  const checked: Writable<Usage> = {
    input,
    cacheRead: Math.min(input, amountOf(usage.cacheRead)),
    cacheWrite: Math.min(input, amountOf(usage.cacheWrite)),
    output,
    reasoning: Math.min(output, amountOf(usage.reasoning)),
  }
  if (isAmount(usage.cacheWriteLong)) checked.cacheWriteLong = usage.cacheWriteLong
  return checked
}

const amountOf = (value: unknown): number => (isAmount(value) ? value : 0)

const isAmount = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0
