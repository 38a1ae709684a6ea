import type { UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import type { Anchor, Calibration, CalibrationState } from '../../meter/index.ts'
import type { SessionStore } from '../../ports/session-store.ts'

/** What was learned about tokenizers belongs to the installation, not to a tenant: it holds ratios, no content. */
const TENANT = 'plimsoll'
const KEY = 'calibration'

/** What the provider said about the last request of a branch, and which request that was. */
export interface Measured extends Anchor {
  /** When its answer was recorded. */
  readonly at: number
  readonly model: string
  readonly endpoint?: string
  readonly chain: string
  readonly byClass: Readonly<Record<string, number>>
}

/** Teaches a calibration one call: its growth since the last measured one where it continues it, else its whole prompt. */
export function teach(calibration: Calibration, last: Measured | undefined, record: UsageSeen): void {
  const { usage, measured, model, endpoint, epoch, at } = record
  if (usage === undefined || measured === undefined) return
  const continues =
    last !== undefined &&
    last.model === model &&
    last.endpoint === endpoint &&
    last.epoch === epoch &&
    last.items <= measured.items
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

/** Writes what was learned for the sessions to come. */
export interface CalibrationKeeper {
  /** Something was learned; it is written within `everyMs`, together with whatever is learned until then. */
  note(): void
  /** Writes at once what is not written yet. */
  flush(): Promise<void>
}

/** Ratios move slowly, and a kill that takes the last seconds of them costs nothing: each session's own are in its log. */
const KEEP_EVERY_MS = 5_000

export function calibrationKeeper(
  store: Pick<SessionStore, 'setValue'>,
  calibration: Calibration,
  everyMs = KEEP_EVERY_MS,
): CalibrationKeeper {
  let timer: NodeJS.Timeout | undefined
  const write = async (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    await store.setValue(TENANT, KEY, JSON.stringify(calibration.state()))
  }
  return {
    note() {
      // Without the store the ratios stay in memory; the next answer tries again.
      timer ??= setTimeout(() => void write().catch(() => undefined), everyMs).unref()
    },
    async flush() {
      if (timer !== undefined) await write().catch(() => undefined)
    },
  }
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
