import type { Policy } from '../../core/policy.ts'
import type { Presented, PresentOptions } from '../deps.ts'
import { describeOutput } from '../intake/index.ts'
import { designOf } from '../presets/design.ts'
import { triggeredBy } from '../presets/shared.ts'

/** Whether a preset's guard would not let this result through as it is. */
export const isLarge = (policy: Policy, text: string): boolean =>
  policy.intake.guard !== undefined &&
  (triggeredBy(text, policy.intake.guard) !== undefined || designOf(policy).stops?.(text) === true)

/** A large result as the preset shows it, always with the address of the original; undefined where it is not large, or the preset has no view. */
export function guardedView(policy: Policy, text: string, options: PresentOptions): Presented | undefined {
  const { guard } = policy.intake
  if (guard === undefined || !isLarge(policy, text)) return undefined
  const started = options.now?.()
  const shown = designOf(policy).guard?.(guard, text, options)
  if (shown === undefined) return undefined
  const { report, about } = describeOutput(text, shown.text, 'head-tail')
  const elapsed = started === undefined ? {} : { processing_ms: options.now!() - started }
  return { text: shown.text, about, report: { ...report, ...shown.metadata, ...elapsed } }
}
