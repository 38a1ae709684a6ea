import { RECORD_VERSION, type UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import { createCalibration, type Calibration, type CalibrationState } from '../../meter/index.ts'
import type { Branch, Measured } from '../session/branch.ts'
import type { EngineDeps } from '../deps.ts'

/**
 * Fixes in the log what the meter knows when a branch begins. From there on the branch learns from its own usage records
 * only, so that a restarted process, or another proxy, decides exactly as this one would.
 */
export async function seedCalibration(deps: EngineDeps, branch: Branch): Promise<void> {
  if (deps.calibrations === undefined || branch.calibration !== undefined) return
  const { v, models } = (await deps.calibrations.of(branch.tenant)).state()
  const at = deps.clock.now()
  // Not worth a write of its own: it goes before the first record that builds on it.
  branch.seed = { v: RECORD_VERSION, at, agent: branch.agent, type: 'calibration', state: { v, models } }
  branch.calibration = calibrationFrom(branch.seed.state)
}

export const calibrationFrom = (state: unknown): Calibration => createCalibration({ state: state as CalibrationState })

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
    last.model === model &&
    last.endpoint === endpoint &&
    last.epoch === epoch &&
    last.items <= measured.items
  // Far below what was sent: a whole prompt like that may have been cut. What it grows by next tells.
  if (!continues && measured.suspect === true) return
  calibration.observe({
    target: { model, ...(endpoint !== undefined && { endpoint }) },
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
  for (const [kind, tokens] of Object.entries(after)) out[kind] = Math.max(0, tokens - (before[kind] ?? 0))
  return out
}
