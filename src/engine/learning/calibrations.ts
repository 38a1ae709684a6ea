import { parsedJson } from '../../core/values.ts'
import type { MeasuredRequest, UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import { type Anchor, type Calibration, createCalibration, type CalibrationState } from '../../meter/index.ts'
import type { EventBody } from '../../core/events.ts'
import type { SessionStore } from '../../ports/session-store.ts'

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
  const before = continues ? last : undefined
  calibration.observe({
    target: { model, endpoint, estimated: measured.exact !== true },
    estimated: Object.fromEntries(
      Object.entries(measured.byClass).map(([kind, count]) => [
        kind,
        Math.max(0, count - (before?.byClass[kind] ?? 0)),
      ]),
    ),
    real: usage.input - (before?.prompt ?? 0),
    at,
  })
}

/** One answer's count beside what we had counted for its request, before any calibration. */
export interface CountedPrompt {
  readonly input: number
  readonly estimated: number
  readonly epoch: string | undefined
  /** How often in a row the count did not follow the request. */
  readonly still: number
}

/** A smaller count than this is one of what was new, from a server that keeps the rest. */
const LEAST_WINDOW = 1_024
/** A server that counts only what its cache did not hold falls far below what it said before. */
const LEAST_SHARE = 0.6
/** Growth that a count cannot miss, as a share of the prompt. */
const GROWTH = 0.05
/** The same where the count stands at a size that windows have, and where it is far below what was sent besides. */
const GROWTH_AT_WINDOW = 0.1
const GROWTH_FAR_BELOW = 0.005
/** A count that follows less than this share of the growth stands still. */
const FOLLOWS = 0.25
/** Standing still once may be a quirk of counting. */
const TIMES_STILL = 2
/** So far below a window of the usual sizes a cut prompt may end. */
const NEAR_WINDOW = 0.03
/** A count below this share of the estimate cannot be another tokenizer's alone. */
const FAR_BELOW = 0.7

/**
 * Local servers drop the front of a prompt that is too long, answer 200, and count what was left. Believed is it only when the counts stand
 * still while the requests grow, twice in a row, or twice at a size that windows have. `window` is what the server seems to act by.
 */
export function cutEvidence(
  last: CountedPrompt | undefined,
  now: { readonly usage: Usage; readonly estimated: number; readonly epoch: string | undefined },
): { readonly seen: CountedPrompt; readonly window?: number } {
  const { usage, estimated, epoch } = now
  const { input } = usage
  const fresh: CountedPrompt = { input, estimated, epoch, still: 0 }
  if (last === undefined || last.epoch !== epoch || usage.cacheRead > 0) return { seen: fresh }
  if (input < LEAST_WINDOW || input < last.input * LEAST_SHARE) return { seen: fresh }
  const expected = (estimated - last.estimated) * Math.min(1, last.input / Math.max(1, last.estimated))
  const isStill = input - last.input < expected * FOLLOWS
  const areFarBelow = [last, fresh].every((one) => one.input < one.estimated * FAR_BELOW)
  const leastGrowth = areFarBelow ? GROWTH_FAR_BELOW : GROWTH_AT_WINDOW
  const isAtWindow = isStill && expected > last.input * leastGrowth && isNearWindow(last) && isNearWindow(fresh)
  const still = isStill && expected > last.input * GROWTH ? last.still + 1 : 0
  const seen = { ...fresh, still }
  return still >= TIMES_STILL || isAtWindow ? { seen, window: Math.max(input, last.input) } : { seen }
}

/** 2,048 and its doubles, and the sizes halfway between them. */
function isNearWindow({ input }: CountedPrompt): boolean {
  const power = 2 ** Math.ceil(Math.log2(input))
  return [power, power * 0.75].some((window) => input <= window && input >= window * (1 - NEAR_WINDOW))
}

const KEY = 'calibration'

/** What answers taught about tokenizers, for each tenant apart: one customer's odd requests must not move another's counts. */
export interface TenantCalibrations {
  /** With what earlier processes learned; without the store it begins with nothing. */
  of(tenant: string): Promise<Calibration>
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
    async of(tenant) {
      const found = known.get(tenant)
      if (found !== undefined) return found
      const state = await store.getValue(tenant, KEY).then(readState, () => undefined)
      const calibration = known.get(tenant) ?? createCalibration({ onEvent, state })
      known.set(tenant, calibration)
      for (const oldest of known.keys()) {
        if (known.size <= MOST_TENANTS || unwritten.has(oldest)) break
        known.delete(oldest)
      }
      return calibration
    },
    note(tenant) {
      unwritten.add(tenant)
      timer ??= setTimeout(() => void write(), everyMs).unref()
    },
    flush: write,
  }
}

/** The state that earlier processes left; undefined when there is none or it cannot be read. */
function readState(text: string | undefined): CalibrationState | undefined {
  const state = text === undefined ? undefined : (parsedJson(text) as CalibrationState | undefined)
  return state?.v === 1 ? state : undefined
}
