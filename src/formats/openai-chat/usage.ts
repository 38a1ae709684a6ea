import type { Usage } from '../../core/usage.ts'
import { numberOf, recordOf } from '../kit/reading.ts'

/** The cached count is inside the prompt count. All zero or missing means unknown. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = recordOf(value)
  if (usage === undefined) return undefined
  const input = numberOf(usage['prompt_tokens']) ?? 0
  const output = numberOf(usage['completion_tokens']) ?? 0
  if (input === 0) return undefined
  const prompt = recordOf(usage['prompt_tokens_details'])
  const completion = recordOf(usage['completion_tokens_details'])
  return {
    input,
    // DeepSeek names the cached part on the top level.
    cacheRead: numberOf(prompt?.['cached_tokens']) ?? numberOf(usage['prompt_cache_hit_tokens']) ?? 0,
    cacheWrite: numberOf(prompt?.['cache_write_tokens']) ?? 0,
    output,
    reasoning: numberOf(completion?.['reasoning_tokens']) ?? 0,
  }
}
