import { parsedJson } from '../../core/values.ts'
import type { MeasuredRequest, UsageSeen } from '../../core/records.ts'
import type { Usage } from '../../core/usage.ts'
import { type Anchor, type Calibration, createCalibration, type CalibrationState } from '../../meter/index.ts'
import type { EventBody } from '../../core/events.ts'
import type { SessionStore } from '../../ports/session-store.ts'

/** The provider's count of a branch's last request, and which request that was. */
export interface Measured extends Anchor, Pick<MeasuredRequest, 'partial' | 'chained' | 'suspect' | 'exact'> {
  readonly at: number
  readonly model: string
  readonly endpoint?: string
  readonly chain: string
  readonly byClass: Readonly<Record<string, number>>
}

/**
 * Teaches a calibration from one call: by the growth since the last measured request that it continues, else by the whole prompt. Counts that include
 * content we cannot see say nothing about the tokenizer and are ignored.
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
  // A count far below our estimate may be that of a cut prompt, and is not used as a whole. Growth is.
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

/** An answer's prompt count and our own count of the request, before calibration. */
export interface CountedPrompt {
  readonly input: number
  readonly estimated: number
  readonly epoch: string | undefined
  /** How many times in a row the count did not grow with the request. */
  readonly still: number
}

/** A smaller count is that of the new part only, from a server that caches the rest. */
const LEAST_WINDOW = 1_024
/** A count below this share of the last one is that of a server that counts only uncached tokens. */
const LEAST_SHARE = 0.6
/** Growth that must show in a count, as a share of the prompt. */
const GROWTH = 0.05
/** The same for a count at a common window size, and for one that is also far below our estimate. */
const GROWTH_AT_WINDOW = 0.1
const GROWTH_FAR_BELOW = 0.005
/** A count that shows less than this share of the growth has not grown. */
const FOLLOWS = 0.25
/** Once may be a quirk of counting. */
const TIMES_STILL = 2
/** How far below a common window size the count of a cut prompt may be. */
const NEAR_WINDOW = 0.03
/** A count below this share of the estimate cannot be explained by another tokenizer. */
const FAR_BELOW = 0.7

/**
 * Local servers silently drop the front of a prompt that is too long, answer 200 and count the rest. A cut is assumed only when requests grow and
 * counts do not, twice in a row, or twice at a common window size. `window`: the server's probable window.
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

/** Common window sizes: powers of two and the sizes halfway between them. */
function isNearWindow({ input }: CountedPrompt): boolean {
  const power = 2 ** Math.ceil(Math.log2(input))
  return [power, power * 0.75].some((window) => input <= window && input >= window * (1 - NEAR_WINDOW))
}

const KEY = 'calibration'

/** Calibrations per tenant, so that one customer's unusual requests do not change another's counts. */
export interface TenantCalibrations {
  /** Includes what earlier processes learned; empty when the store is unreachable. */
  of(tenant: string): Promise<Calibration>
  /** Marks a tenant's calibration as changed; it is written within `everyMs`. */
  note(tenant: string): void
  flush(): Promise<void>
}

interface TenantCalibrationsOptions {
  /** Interval of writes. A kill may lose the last ones: ratios change slowly, and sessions log their own. @default 5 seconds */
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
      // If the store is unreachable, the ratios stay in memory and are written after the next answer.
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

/** The stored state; undefined when there is none or it cannot be read. */
function readState(text: string | undefined): CalibrationState | undefined {
  const state = text === undefined ? undefined : (parsedJson(text) as CalibrationState | undefined)
  return state?.v === 1 ? state : undefined
}
