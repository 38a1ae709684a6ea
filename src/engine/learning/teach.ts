import type { MeasuredRequest, UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import type { Anchor, Calibration } from '../../meter/index.ts'

/** What the provider said about the last request of a branch, and which request that was. */
export interface Measured extends Anchor, Pick<MeasuredRequest, 'partial' | 'chained' | 'suspect' | 'exact'> {
  /** When its answer was recorded. */
  readonly at: number
  readonly model: string
  readonly endpoint?: string
  readonly chain: string
  readonly byClass: Readonly<Record<string, number>>
}

/**
 * Teaches a calibration one call: its growth since the last measured one where it continues it, else its whole prompt. A count that holds
 * what the request does not show says nothing about the tokenizer.
 */
export function teach(calibration: Calibration, last: Measured | undefined, record: UsageSeen): void {
  const { usage, measured, model, endpoint, epoch, at } = record
  if (usage === undefined || measured === undefined || measured.partial === true) return
  const continues =
    last !== undefined &&
    last.partial !== true &&
    last.exact === measured.exact &&
    last.model === model &&
    last.endpoint === endpoint &&
    last.epoch === epoch &&
    last.items <= measured.items
  // Far below what was sent: a whole prompt like that may have been cut. What it grows by next tells.
  if (!continues && measured.suspect === true) return
  const estimated = measured.exact !== true
  calibration.observe({
    target: endpoint === undefined ? { model, estimated } : { model, estimated, endpoint },
    estimated: continues ? difference(measured.byClass, last.byClass) : measured.byClass,
    real: realTokens(usage, continues ? last.prompt : 0),
    at,
  })
}

const realTokens = (usage: Usage, before: number): number => usage.input - before

function difference(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  const out: Record<string, number> = {}
  for (const kind of Object.keys(after)) out[kind] = Math.max(0, after[kind]! - (before[kind] ?? 0))
  return out
}
