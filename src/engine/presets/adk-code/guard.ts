import { byteLength, headTail } from '../../intake/text.ts'
import type { GuardRule } from '../../../core/policy.ts'
import type { PresentOptions } from '../../deps.ts'
import type { DesignView } from '../design.ts'
import { ADDRESS_BYTES, type Guarded } from '../guarded.ts'

/** Above either a result is large. */
export const ADK_CODE_TRIGGERS = { bytes: 10_240, lines: 256 }

export interface AdkCodeOptions {
  /** @default 128 */
  readonly headLines?: number
  /** @default 128 */
  readonly tailLines?: number
  /** @default 10240 */
  readonly maxBytes?: number
  readonly handle?: string
}

/**
 * adk-code's head + tail: more than 10 KiB or more than 256 lines become the first and the last 128 with an exact marker.
 *
 * Deviations: the original cut the end off when head and tail were still above 10 KiB and added its note on top of the limit,
 * and it showed inputs of up to 128 lines twice. Here lines go from the middle, the limit holds with the marker in it, and one
 * long line is cut by characters at both ends (promises 1 and 3).
 */
export function guardAdkCode(text: string, options: AdkCodeOptions = {}): Guarded<string> {
  const { headLines = 128, tailLines = 128, maxBytes = 10_240, handle } = options
  const shown = headTail(text, { headLines, tailLines, maxBytes })
  if (!shown.truncated) return { value: text, cuts: [] }
  const cut = { guard: 'adk-code', what: 'output', original: byteLength(text), shown: byteLength(shown.text) }
  return { value: shown.text, cuts: [{ ...cut, ...(handle !== undefined && { handle }) }] }
}

export function adkCodeGuard(
  { bytes = ADK_CODE_TRIGGERS.bytes, lines = ADK_CODE_TRIGGERS.lines }: GuardRule,
  text: string,
  { handle }: PresentOptions,
): DesignView {
  const half = Math.floor(lines / 2)
  const { value } = guardAdkCode(text, { headLines: half, tailLines: half, maxBytes: bytes - ADDRESS_BYTES, handle })
  return { text: `${value}\n[Full output: ${handle}]` }
}
