import type { GuardRule } from '../../core/policy.ts'
import type { Presented, PresentOptions } from '../deps.ts'
import { describeOutput } from '../intake/index.ts'
import { designNamed } from '../presets/designs.ts'
import { triggeredBy } from '../presets/large-output.ts'

/** Whether a design's guard would not let this result through as it is. */
export const isLarge = (guard: GuardRule | undefined, text: string): boolean =>
  guard !== undefined &&
  (triggeredBy(text, guard) !== undefined || designNamed(guard.design).stops?.(guard, text) === true)

/** A large result as its design shows it, always with the address of the original; undefined where the design has no view. */
export function guardedView(guard: GuardRule, text: string, options: PresentOptions): Presented | undefined {
  if (!isLarge(guard, text)) return undefined
  const started = options.now?.()
  const shown = designNamed(guard.design).guard?.(guard, text, options)
  if (shown === undefined) return undefined
  const { report, about } = describeOutput(text, shown.text, 'head-tail')
  const elapsed = started === undefined ? {} : { processing_ms: options.now!() - started }
  return { text: shown.text, about, report: { ...report, ...shown.metadata, ...elapsed } }
}
