import { NO_USAGE, type Usage } from '../../core/usage.ts'
import type { UsageMode } from './options.ts'

/** What the client is told about a call; undefined means that the answer has no usage at all. */
export function reportedUsage(mode: UsageMode, usage: Usage, previous: Usage | undefined): Usage | undefined {
  if (mode === 'off') return undefined
  if (mode === 'zero') return NO_USAGE
  return mode === 'late' ? previous : usage
}
