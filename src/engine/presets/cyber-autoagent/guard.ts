import type { GuardRule } from '../../../core/policy.ts'
import type { PresentOptions } from '../../deps.ts'
import { isRecord } from '../../../core/values.ts'
import type { DesignView } from '../design.ts'
import { CYBER_DEFAULTS, routeCyberResult } from './compress.ts'

/** Header with sizes and address, the first part, footer with the address. The design's sizes are in characters. */
export function cyberGuard({ chars, shownChars }: GuardRule, text: string, { handle }: PresentOptions): DesignView {
  const limits = {
    ...CYBER_DEFAULTS,
    artifactChars: chars ?? CYBER_DEFAULTS.artifactChars,
    maxChars: shownChars ?? CYBER_DEFAULTS.maxChars,
  }
  const { value } = routeCyberResult({ content: [{ text }] }, () => handle, limits)
  const content = isRecord(value) && Array.isArray(value['content']) ? (value['content'] as unknown[]) : []
  const [first] = content
  const shown = isRecord(first) && typeof first['text'] === 'string' ? first['text'] : text
  return {
    text: shown,
    metadata: {
      original_size: text.length,
      compressed_size: shown.length,
      compression_ratio: Number((shown.length / text.length).toFixed(3)),
    },
  }
}
