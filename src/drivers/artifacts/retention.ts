import type { Handle } from '../../core/handles.ts'
import type { RetentionRule } from '../../ports/artifact-store.ts'

export interface RetentionCandidate {
  readonly handle: Handle
  /** When these bytes were last put. */
  readonly usedAt: number
  readonly referenced: boolean
}

/**
 * Which artifacts a rule gives up, oldest first. References win over every number. A rule without `keep` and `maxAgeMs`
 * gives up nothing: an empty object must never mean "delete all".
 */
export function expiredArtifacts(
  candidates: readonly RetentionCandidate[],
  rule: RetentionRule,
  now: number,
): Handle[] {
  const { keep, cleanAt = 0, maxAgeMs } = rule
  if (candidates.length < cleanAt || (keep === undefined && maxAgeMs === undefined)) return []
  const newestFirst = [...candidates].sort((a, b) => b.usedAt - a.usedAt || (a.handle < b.handle ? -1 : 1))
  return newestFirst
    .slice(keep ?? 0)
    .filter(({ usedAt, referenced }) => !referenced && (maxAgeMs === undefined || now - usedAt > maxAgeMs))
    .map(({ handle }) => handle)
    .toReversed()
}
