import type { Usage } from '../core/usage.ts'
import type { CalibrationState } from '../meter/index.ts'
import type { SessionStore } from '../ports/session-store.ts'
import type { Branch, OpenTurn } from './branch.ts'
import type { EngineDeps } from './deps.ts'

/** What was learned about tokenizers belongs to the installation, not to a tenant: it holds ratios, no content. */
const TENANT = 'plimsoll'
const KEY = 'calibration'

/**
 * Teaches the meter from reported usage: the growth since the last measured call where this one continues it, else the whole
 * prompt. The state is durable before the answer is recorded, so that a restarted process decides as this one would.
 */
export async function learnFrom(deps: EngineDeps, branch: Branch, turn: OpenTurn, usage: Usage): Promise<void> {
  const { calibration } = deps
  if (calibration === undefined) return
  const { last } = branch
  const continues =
    last !== undefined &&
    last.model === turn.model &&
    last.endpoint === turn.endpoint &&
    last.epoch === turn.epoch &&
    last.items <= turn.measured.items
  const real = continues ? usage.input - last.prompt : usage.input
  calibration.observe({
    target: { model: turn.model, ...(turn.endpoint !== undefined && { endpoint: turn.endpoint }) },
    estimated: continues ? difference(turn.measured.byClass, last.byClass) : turn.measured.byClass,
    real,
    at: deps.clock.now(),
  })
  await deps.sessions.setValue(TENANT, KEY, JSON.stringify(calibration.state()))
}

function difference(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  const out: Record<string, number> = {}
  for (const [kind, tokens] of Object.entries(after)) out[kind] = Math.max(0, tokens - (before[kind] ?? 0))
  return out
}

/** The state that earlier processes left; undefined when there is none or it cannot be read. */
export async function storedCalibration(store: SessionStore): Promise<CalibrationState | undefined> {
  const text = await store.getValue(TENANT, KEY)
  if (text === undefined) return undefined
  try {
    const state = JSON.parse(text) as CalibrationState
    return state.v === 1 ? state : undefined
  } catch {
    return undefined
  }
}
