import { BoundedMap } from '../util/bounded-map.ts'
import type { EventBody } from '../core/events.ts'
import type { Target } from '../core/target.ts'
import {
  CONTRADICTED,
  countedOf,
  fit,
  missOf,
  PRIOR_WEIGHT,
  speaks,
  UNLEARNED,
  type Factors,
  type Fit,
  type Sample,
} from './calibration-fit.ts'
import type { ContentKind } from './estimator/estimate.ts'
import type { ClassTokens, TokenClass } from './items.ts'

/** What was counted in two ways is off in two ways. */
export interface CalibratedTarget extends Pick<Target, 'model'> {
  readonly endpoint?: Target['endpoint'] | undefined
  readonly estimated?: boolean
}

/** One reported number against what had been counted for the same tokens. */
export interface Observation {
  readonly target: CalibratedTarget
  /** Raw counts by class, before any factor: of the growth since the last measured call, or of a first whole prompt. */
  readonly estimated: ClassTokens
  /** What the provider said the same tokens are. */
  readonly real: number
  /** As many samples as it counts for. @default by its size, one at most */
  readonly weight?: number
  /** Milliseconds since 1970. */
  readonly at: number
}

/** What was learned about a target, applied to counts by class. */
export interface Prediction {
  /** Of all classes but media. */
  readonly tokens: number
  /** Half-width of what was learned, once enough was seen to know it. */
  readonly half?: number
  /** How much text was seen of the target, in whole samples: small prompts count for less than one. */
  readonly evidence: number
  /** What media really took, once some was measured, and how far off that may be. */
  readonly media?: { readonly factor: number; readonly spread: number }
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

interface CalibrationOptions {
  readonly state?: CalibrationState
  readonly onEvent?: (event: EventBody) => void
}

/**
 * Learns `real / estimated` from reported usage, per endpoint, model and content class, and apart from it what framing, declared
 * tools and media really take. Medians make one wrong number (a hidden reminder, a truncated prompt) move nothing; three
 * misses in a row on the same side mean that the tokenizer itself changed: what contradicts them is weighed down, and nothing is thrown away.
 */
export interface Calibration {
  observe(observation: Observation): void
  /** Undefined as long as nothing is known about the target. */
  predict(target: CalibratedTarget, estimated: ClassTokens): Prediction | undefined
  state(): CalibrationState
}

/** A growth of fewer tokens says more about noise than about the tokenizer. */
const LEAST_TOKENS = 60
const FULL_WEIGHT_TOKENS = 800
/** A factor of two, in logarithms. */
const IMPLAUSIBLE = Math.LN2
const IMPLAUSIBLE_WEIGHT = 0.1
const MEDIA_SPREAD = 0.15
/** Misses that mean a change: this many in a row, all on one side and all further off than usual. */
const DRIFT_RUN = 3
const DRIFT_LEAST = 0.08
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000
const MODELS_KEPT = 200
/** Samples kept per endpoint and model: the newest, and the largest before them. */
const SAMPLES_KEPT = 20

export function createCalibration({ state, onEvent = () => {} }: CalibrationOptions = {}): Calibration {
  const models = new BoundedMap<string, ModelState>(MODELS_KEPT)
  for (const [key, model] of Object.entries(state?.models ?? {})) models.set(key, model)
  /** Fitting takes longer than counting a short request, and several questions are asked about each. */
  const fits = new WeakMap<ModelState, Fit>()

  function fitOf(model: ModelState | undefined): Fit | undefined {
    if (model === undefined || model.samples.length === 0) return undefined
    const learned = fits.get(model) ?? fit(model.samples)
    fits.set(model, learned)
    return learned
  }

  return {
    observe({ target, estimated, real, at, weight: given }) {
      const { fixed = 0, tools = 0, media = 0, ...texts } = estimated
      const text = Object.values(texts).reduce((sum, tokens) => sum + tokens, 0)
      const [most] = Object.entries(texts).sort((a, b) => b[1] - a[1])
      // The class that makes up most of the text.
      const kind = (most?.[0] ?? 'prose') as ContentKind
      if (text + tools + media < LEAST_TOKENS || !(real > fixed / 4)) return
      const key = keyOf(target)
      const before = models.get(key)
      const weight = given ?? Math.min(1, Math.sqrt((text + fixed + tools + media) / FULL_WEIGHT_TOKENS))
      const sample: Sample = { text, fixed, tools, media, kind, real, weight }
      const samples = mostTelling([...agedSamples(before, at), believed(sample, fitOf(before))])
      const changed = changedSamples(samples)
      if (changed !== undefined) {
        const [from, to] = [fit(samples).text, fit(changed).text]
        onEvent({ type: 'calibration-drifted', model: target.model, from, to })
      }
      models.set(key, { samples: changed ?? samples, at })
    },
    predict(target, estimated) {
      const model = models.get(keyOf(target))
      const learned = fitOf(model)
      if (model === undefined || learned === undefined) return undefined
      const { text, framing, tools, byKind, misses } = learned
      const factors: Readonly<Partial<Record<TokenClass, number>>> = { ...byKind, fixed: framing, tools, media: 0 }
      let tokens = 0
      for (const [kind, count] of Object.entries(estimated)) tokens += count * (factors[kind as TokenClass] ?? text)
      let evidence = 0
      for (const sample of model.samples) evidence += (sample.weight * (sample.text + sample.fixed)) / countedOf(sample)
      const half = misses && Math.hypot(tokens * misses.bias, misses.perRoot * Math.sqrt(tokens))
      const media =
        learned.media === undefined
          ? undefined
          : { factor: learned.media, spread: Math.max(MEDIA_SPREAD, misses?.bias ?? 0) }
      return { tokens, half, evidence, media }
    },
    state: () => ({ v: 1, models: Object.fromEntries(models) }),
  }
}

const keyOf = ({ model, endpoint, estimated = false }: CalibratedTarget): string =>
  `${endpoint ?? ''}|${model}${estimated ? '' : '|exact'}`

/**
 * A number far from all that is known tells of something unseen, not of the tokenizer; if more like it follow, they drift together.
 * Media and tools that were never measured before are the unseen thing itself.
 */
function believed(sample: Sample, known: Fit | undefined): Sample {
  const isFirst =
    (speaks(sample, 'media') && known?.media === undefined) || (speaks(sample, 'tools') && known?.hasTools !== true)
  if (isFirst) return sample
  const miss = missOf(sample, known ?? UNLEARNED)
  return Math.abs(miss) > IMPLAUSIBLE ? { ...sample, weight: sample.weight * IMPLAUSIBLE_WEIGHT } : sample
}

/**
 * The samples that are kept: the newest, which may show a change, and of the older ones those that say most. A poll of a running command is a
 * hundred tokens, half of them framing; twenty in a row must not push out the prompts that show what text takes.
 */
function mostTelling(samples: readonly Sample[]): readonly Sample[] {
  if (samples.length <= SAMPLES_KEPT) return samples
  let least = 0
  for (let at = 1; at < samples.length - DRIFT_RUN; at++)
    if (sayingOf(samples[at]!) < sayingOf(samples[least]!)) least = at
  return samples.toSpliced(least, 1)
}

const sayingOf = ({ weight, isContradicted }: Sample): number =>
  isContradicted === true ? CONTRADICTED * weight : weight

/** Samples lose weight with time, so that a vendor's silent change is overruled sooner after a pause. */
function agedSamples(model: ModelState | undefined, now: number): readonly Sample[] {
  if (model === undefined) return []
  const decay = 0.5 ** (Math.max(0, now - model.at) / HALF_LIFE_MS)
  return model.samples.map((sample) => ({ ...sample, weight: sample.weight * decay }))
}

/** The samples after a change of tokenizer, those that contradict it marked; undefined where nothing changed. */
function changedSamples(samples: readonly Sample[]): readonly Sample[] | undefined {
  const newest = samples.slice(-DRIFT_RUN)
  const older = samples.slice(0, -DRIFT_RUN).filter(({ isContradicted }) => isContradicted !== true)
  if (older.length < DRIFT_RUN) return undefined
  const before = fit(older)
  // The first media or tools say nothing about a change of the tokenizer.
  if (newest.some((sample) => speaks(sample, 'media')) && before.media === undefined) return undefined
  const usual = older.map((sample) => Math.abs(missOf(sample, before))).sort((a, b) => a - b)
  const tolerated = Math.max(DRIFT_LEAST, 2 * usual[Math.floor(usual.length / 2)]!)
  const isOff = (factors: Factors): boolean => {
    const sides = newest.map((sample) => missOf(sample, factors))
    return sides.every((side) => side > tolerated) || sides.every((side) => side < -tolerated)
  }
  if (!isOff(before)) return undefined
  // What one set of factors explains together is another mix of text and framing, and no change.
  const together = fit(samples.map(spokenAgain))
  const isChange = isOff(together)
  const after = isChange ? fit(newest.map(believedAgain)) : together
  const isContradicted = (sample: Sample, index: number): boolean =>
    index < samples.length - DRIFT_RUN && Math.abs(missOf(sample, after)) > tolerated
  if (!isChange && samples.every((sample, index) => isContradicted(sample, index) === (sample.isContradicted === true)))
    return undefined
  return samples.map((sample, index) => {
    const plain = spokenAgain(sample)
    if (isContradicted(sample, index)) return { ...plain, isContradicted: true }
    return index < samples.length - DRIFT_RUN ? plain : believedAgain(plain)
  })
}

function spokenAgain(sample: Sample): Sample {
  const { isContradicted: _, ...plain } = sample
  return plain
}

/** What was weighed down as implausible when it came alone. */
const believedAgain = (sample: Sample): Sample => ({ ...sample, weight: Math.max(sample.weight, PRIOR_WEIGHT) })
