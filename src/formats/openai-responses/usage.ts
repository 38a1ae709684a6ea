import type { Usage } from '../../core/usage.ts'
import { numberOf, recordOf } from '../kit/reading.ts'

/** The cached count is inside the input count. All zero or missing means unknown. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = recordOf(value)
  if (usage === undefined) return undefined
  const input = numberOf(usage['input_tokens']) ?? 0
  if (input === 0) return undefined
  const details = recordOf(usage['input_tokens_details'])
  return {
    input,
    cacheRead: numberOf(details?.['cached_tokens']) ?? 0,
    cacheWrite: numberOf(details?.['cache_write_tokens']) ?? 0,
    output: numberOf(usage['output_tokens']) ?? 0,
    reasoning: numberOf(recordOf(usage['output_tokens_details'])?.['reasoning_tokens']) ?? 0,
  }
}
