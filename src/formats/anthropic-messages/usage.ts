import type { Usage } from '../../core/usage.ts'
import { numberOf, recordOf } from '../kit/reading.ts'

/** Anthropic reports input without cached tokens; ours includes them. All zero or missing means unknown. */
export function readUsage(value: unknown): Usage | undefined {
  const usage = recordOf(value)
  if (usage === undefined) return undefined
  const plain = numberOf(usage['input_tokens']) ?? 0
  const cacheWrite = numberOf(usage['cache_creation_input_tokens']) ?? 0
  const cacheRead = numberOf(usage['cache_read_input_tokens']) ?? 0
  const output = numberOf(usage['output_tokens']) ?? 0
  const input = plain + cacheWrite + cacheRead
  if (input === 0) return undefined
  const long = numberOf(recordOf(usage['cache_creation'])?.['ephemeral_1h_input_tokens']) ?? 0
  return { input, cacheRead, cacheWrite, ...(long > 0 && { cacheWriteLong: long }), output, reasoning: 0 }
}
