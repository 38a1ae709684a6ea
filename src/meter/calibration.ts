import type { EventBody } from '../core/events.ts'
import type { Target } from '../core/target.ts'
import type { ContentKind } from './estimator/kinds.ts'

/** One reported number against what had been counted for the same tokens. */
export interface Observation {
  readonly target: Pick<Target, 'model' | 'endpoint'>
  /** Raw counts by class, before any factor: of the growth since the last measured call, or of a first whole prompt. */
  readonly estimated: Readonly<Partial<Record<ContentKind | 'fixed', number>>>
  /** What the provider said the same tokens are. */
  readonly real: number
  /** Usage of another epoch describes other bytes; it is refused. */
  readonly epoch?: string
  readonly currentEpoch?: string
  /** Milliseconds since 1970. */
  readonly at: number
}

export interface Prediction {
  readonly tokens: number
  /** Relative half-width, once enough was seen to know it. */
  readonly spread?: number
}

/** Plain data, kept in a store between sessions. */
export interface CalibrationState {
  readonly v: 1
  readonly models: Readonly<Record<string, ModelState>>
}

interface ModelState {
  readonly samples: readonly Sample[]
  readonly at: number
}

interface Sample {
  /** log(real / estimated) of the text part. */
  readonly ratio: number
  readonly weight: number
  readonly kind: ContentKind
}

export interface CalibrationOptions {
  readonly state?: CalibrationState
  /** Factors outside are never believed. @default [0.4, 3] */
  readonly clamp?: readonly [low: number, high: number]
  /** Samples kept per endpoint and model. @default 15 */
  readonly window?: number
  readonly onEvent?: (event: EventBody) => void
}

/**
 * Learns `real / estimated` from reported usage, per endpoint, model and content class. The factor is a weighted median of the
 * newest samples, so that one wrong number (a hidden reminder, a truncated prompt) moves nothing; three misses in a row on the
 * same side mean that the tokenizer itself changed, and older samples go.
 */
export interface Calibration {
  observe(observation: Observation): void
  /** Undefined as long as nothing is known about the target. */
  predict(target: Pick<Target, 'model' | 'endpoint'>, estimated: Observation['estimated']): Prediction | undefined
  factorOf(target: Pick<Target, 'model' | 'endpoint'>, kind?: ContentKind): number | undefined
  state(): CalibrationState
}

/** A growth of fewer tokens says more about framing than about the tokenizer. */
const LEAST_TOKENS = 60
const FULL_WEIGHT_TOKENS = 1500
/** The fitted estimate itself counts as this much of a sample. */
const PRIOR_WEIGHT = 0.35
const RECENCY = 0.93
const SAMPLES_FOR_CLASS = 4
const SAMPLES_FOR_SPREAD = 3
/** Misses that mean a change: this many in a row, all on one side and all further off than usual. */
const DRIFT_RUN = 3
const DRIFT_LEAST = 0.08
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000
const LEAST_SPREAD = 0.015
const MODELS_KEPT = 200

export function createCalibration(options: CalibrationOptions = {}): Calibration {
  const { clamp = [0.4, 3], window = 15, onEvent = () => {} } = options
  const low = Math.log(clamp[0])
  const high = Math.log(clamp[1])
  const models = new Map<string, ModelState>(Object.entries(options.state?.models ?? {}))

  const bounded = (ratio: number): number => Math.min(high, Math.max(low, ratio))

  function ratioFor(samples: readonly Sample[], kind?: ContentKind): number {
    const own = kind === undefined ? [] : samples.filter((sample) => sample.kind === kind)
    return bounded(centre(own.length >= SAMPLES_FOR_CLASS ? own : samples))
  }

  return {
    observe({ target, estimated, real, epoch, currentEpoch, at }) {
      if (epoch !== currentEpoch) return
      const { text, fixed, kind } = splitOf(estimated)
      if (text < LEAST_TOKENS || !(real > fixed)) return
      const key = keyOf(target)
      const before = models.get(key)
      const aged = before === undefined ? [] : age(before, at)
      const sample: Sample = {
        ratio: bounded(Math.log((real - fixed) / text)),
        weight: Math.min(1, text / FULL_WEIGHT_TOKENS),
        kind,
      }
      const { kept, drifted } = withoutOutdated([...aged, sample])
      if (drifted !== undefined) {
        const from = Math.exp(ratioFor(drifted))
        onEvent({ type: 'calibration-drifted', model: target.model, from, to: Math.exp(ratioFor(kept)) })
      }
      models.delete(key)
      models.set(key, { samples: kept.slice(-window), at })
      if (models.size > MODELS_KEPT) models.delete(models.keys().next().value!)
    },
    predict(target, estimated) {
      const samples = models.get(keyOf(target))?.samples
      if (samples === undefined || samples.length === 0) return undefined
      let tokens = estimated.fixed ?? 0
      for (const [kind, count] of Object.entries(estimated)) {
        if (kind !== 'fixed') tokens += count * Math.exp(ratioFor(samples, kind as ContentKind))
      }
      return { tokens, ...(samples.length >= SAMPLES_FOR_SPREAD && { spread: spreadOf(samples) }) }
    },
    factorOf(target, kind) {
      const samples = models.get(keyOf(target))?.samples
      return samples === undefined || samples.length === 0 ? undefined : Math.exp(ratioFor(samples, kind))
    },
    state: () => ({ v: 1, models: Object.fromEntries(models) }),
  }
}

const keyOf = ({ model, endpoint }: Pick<Target, 'model' | 'endpoint'>): string => `${endpoint ?? ''}|${model}`

/** The text part, the part that no tokenizer error touches, and the class that makes up most of the text. */
function splitOf(estimated: Observation['estimated']): { text: number; fixed: number; kind: ContentKind } {
  let text = 0
  let kind: ContentKind = 'prose'
  let most = 0
  for (const [name, tokens] of Object.entries(estimated)) {
    if (name === 'fixed') continue
    text += tokens
    if (tokens > most) {
      most = tokens
      kind = name as ContentKind
    }
  }
  return { text, fixed: estimated.fixed ?? 0, kind }
}

/** Samples lose weight with time, so that a vendor's silent change is overruled sooner after a pause. */
function age({ samples, at: then }: ModelState, now: number): Sample[] {
  const decay = now > then ? 0.5 ** ((now - then) / HALF_LIFE_MS) : 1
  return decay === 1 ? [...samples] : samples.map((sample) => ({ ...sample, weight: sample.weight * decay }))
}

/** Weighted median of the log ratios, newer ones counting more, with the uncorrected estimate as one weak sample. */
function centre(samples: readonly Sample[]): number {
  const weighted = samples.map(({ ratio, weight }, index) => ({
    ratio,
    weight: weight * RECENCY ** (samples.length - 1 - index),
  }))
  return weightedMedian([...weighted, { ratio: 0, weight: PRIOR_WEIGHT }])
}

/** With interpolation between the two middle values, so that few samples do not make it jump. */
function weightedMedian(values: { ratio: number; weight: number }[]): number {
  const sorted = values.sort((a, b) => a.ratio - b.ratio)
  const half = sorted.reduce((sum, { weight }) => sum + weight, 0) / 2
  let below = 0
  for (let i = 0; i < sorted.length; i++) {
    const middle = below + sorted[i]!.weight / 2
    if (middle >= half) {
      if (i === 0) return sorted[0]!.ratio
      const before = sorted[i - 1]!
      const beforeMiddle = below - before.weight / 2
      const share = (half - beforeMiddle) / (middle - beforeMiddle)
      return before.ratio + (sorted[i]!.ratio - before.ratio) * share
    }
    below += sorted[i]!.weight
  }
  return sorted.at(-1)?.ratio ?? 0
}

function spreadOf(samples: readonly Sample[]): number {
  const middle = centre(samples)
  const misses = samples.map(({ ratio }) => Math.abs(ratio - middle)).sort((a, b) => a - b)
  return Math.max(LEAST_SPREAD, misses[Math.min(misses.length - 1, Math.floor(misses.length * 0.9))]!)
}

/** After a change of tokenizer only the samples since then speak; `drifted` holds those that no longer do. */
function withoutOutdated(samples: readonly Sample[]): { kept: readonly Sample[]; drifted?: readonly Sample[] } {
  const older = samples.slice(0, -DRIFT_RUN)
  const newest = samples.slice(-DRIFT_RUN)
  if (older.length < DRIFT_RUN) return { kept: samples }
  const expected = centre(older)
  const usual = Math.max(DRIFT_LEAST, 2 * medianMiss(older, expected))
  const sides = newest.map(({ ratio }) => ratio - expected)
  const changed = sides.every((side) => side > usual) || sides.every((side) => side < -usual)
  return changed ? { kept: newest, drifted: older } : { kept: samples }
}

function medianMiss(samples: readonly Sample[], expected: number): number {
  const misses = samples.map(({ ratio }) => Math.abs(ratio - expected)).sort((a, b) => a - b)
  return misses[Math.floor(misses.length / 2)]!
}
