import type { Usage } from '../../core/usage.ts'
import { numberOf, recordOf } from '../kit/reading.ts'
import { valueAt } from './source.ts'

/** The cached count is inside the prompt count; thoughts stand beside the answer. All zero or missing means unknown. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = recordOf(value)
  const count = (key: string): number => numberOf(valueAt(usage, key)) ?? 0
  const input = count('promptTokenCount') + count('toolUsePromptTokenCount')
  if (input === 0) return undefined
  const reasoning = count('thoughtsTokenCount')
  return {
    input,
    cacheRead: count('cachedContentTokenCount'),
    cacheWrite: 0,
    output: count('candidatesTokenCount') + reasoning,
    reasoning,
  }
}
