import type { EventBody } from '../../core/events.ts'
import { createCalibration, type Calibration, type CalibrationState } from '../../meter/index.ts'
import type { SessionStore } from '../../ports/session-store.ts'

const KEY = 'calibration'

/** What answers taught about tokenizers, for each tenant apart: one customer's odd requests must not move another's counts. */
export interface TenantCalibrations {
  /** With what earlier processes learned; without the store it begins with nothing. */
  of(tenant: string): Calibration | Promise<Calibration>
  /** A tenant's has learned something; it is written within `everyMs`, together with whatever is learned until then. */
  note(tenant: string): void
  /** Writes at once what is not written yet. */
  flush(): Promise<void>
}

interface TenantCalibrationsOptions {
  /** Ratios move slowly, and a kill that takes the last seconds of them costs nothing: each session's own are in its log. @default 5 seconds */
  readonly everyMs?: number
  readonly onEvent?: (event: EventBody) => void
}

const MOST_TENANTS = 1_000

export function tenantCalibrations(
  store: Pick<SessionStore, 'getValue' | 'setValue'>,
  options: TenantCalibrationsOptions = {},
): TenantCalibrations {
  const { everyMs = 5_000, onEvent = () => {} } = options
  const known = new Map<string, Calibration>()
  const unwritten = new Set<string>()
  let timer: NodeJS.Timeout | undefined

  async function open(tenant: string): Promise<Calibration> {
    const state = await store.getValue(tenant, KEY).then(readState, () => undefined)
    const calibration = known.get(tenant) ?? createCalibration({ onEvent, state })
    known.set(tenant, calibration)
    for (const oldest of known.keys()) {
      if (known.size <= MOST_TENANTS) break
      if (!unwritten.has(oldest)) known.delete(oldest)
      else break
    }
    return calibration
  }

  async function write(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const tenants = [...unwritten]
    unwritten.clear()
    for (const tenant of tenants) {
      const calibration = known.get(tenant)
      // Without the store the ratios stay in memory; the next answer tries again.
      if (calibration !== undefined)
        await store.setValue(tenant, KEY, JSON.stringify(calibration.state())).catch(() => undefined)
    }
  }

  return {
    of: (tenant) => known.get(tenant) ?? open(tenant),
    note(tenant) {
      unwritten.add(tenant)
      timer ??= setTimeout(() => void write(), everyMs).unref()
    },
    flush: write,
  }
}

/** The state that earlier processes left; undefined when there is none or it cannot be read. */
function readState(text: string | undefined): CalibrationState | undefined {
  if (text === undefined) return undefined
  try {
    const state = JSON.parse(text) as CalibrationState
    return state.v === 1 ? state : undefined
  } catch {
    return undefined
  }
}
