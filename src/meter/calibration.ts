import type { EventBody } from '../core/events.ts'
import type { Target } from '../core/target.ts'
import type { ContentKind } from './estimator/kinds.ts'

/** One reported number against what had been counted for the same tokens. */
export interface Observation {
  readonly target: Pick<Target, 'model' | 'endpoint'>
  /** Raw counts by class, before any factor: of the growth since the last measured call, or of a first whole prompt. */
  readonly estimated: Readonly<Partial<Record<ContentKind | 'fixed' | 'tools' | 'media', number>>>
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
  /** Raw tokens of text and of framing, and what both together really were. */
  readonly text: number
  readonly fixed: number
  /** Raw tokens of declared tools and of media. */
  readonly tools?: number
  readonly media?: number
  readonly real: number
  readonly kind: ContentKind
  /** Grows with the size of the sample and falls with time. */
  readonly weight: number
}

export interface CalibrationOptions {
  readonly state?: CalibrationState
  /** Factors outside are never believed. @default [0.4, 3] */
  readonly clamp?: readonly [low: number, high: number]
  /** Samples kept per endpoint and model. @default 20 */
  readonly window?: number
  readonly onEvent?: (event: EventBody) => void
}

/**
 * Learns `real / estimated` from reported usage, per endpoint, model and content class, and apart from it what framing, declared
 * tools and media really take. Medians make one wrong number (a hidden reminder, a truncated prompt) move nothing; three
 * misses in a row on the same side mean that the tokenizer itself changed, and older samples go.
 */
export interface Calibration {
  observe(observation: Observation): void
  /** Undefined as long as nothing is known about the target. */
  predict(target: Pick<Target, 'model' | 'endpoint'>, estimated: Observation['estimated']): Prediction | undefined
  factorOf(target: Pick<Target, 'model' | 'endpoint'>, kind?: ContentKind): number | undefined
  /** What media really took, once some was measured, and how far off that may be. */
  mediaFactorOf(
    target: Pick<Target, 'model' | 'endpoint'>,
  ): { readonly factor: number; readonly spread: number } | undefined
  /** How much text was seen of a target, in whole samples: small prompts count for less than one. */
  evidenceOf(target: Pick<Target, 'model' | 'endpoint'>): number
  state(): CalibrationState
}

/** A growth of fewer tokens says more about noise than about the tokenizer. */
const LEAST_TOKENS = 60
const FULL_WEIGHT_TOKENS = 800
/** A factor of two, in logarithms. */
const IMPLAUSIBLE = Math.LN2
const IMPLAUSIBLE_WEIGHT = 0.1
/** What was fitted counts as this much of a sample. */
const PRIOR_WEIGHT = 0.35
/** Framing is a small part of a sample, and clients differ in it more than tokenizers do. */
const FRAMING_PRIOR_WEIGHT = 0.07
const FRAMING_CLAMP = [0.3, 3] as const
/** Vendors rewrite declarations in a form of their own; only whole prompts show what they make of them. */
const TOOLS_PRIOR_WEIGHT = 0.03
const TOOLS_CLAMP = [0.3, 5] as const
/** A rule for pictures may be wrong by any factor on a server that counts otherwise. */
const MEDIA_PRIOR_WEIGHT = 0.02
const MEDIA_CLAMP = [0.02, 50] as const
const MEDIA_SPREAD = 0.15
/** A part speaks for its factor where it is at least this share of what was counted. */
const SPEAKING_SHARE = 0.2
const RECENCY = 0.95
const ROUNDS = 6
const SAMPLES_FOR_CLASS = 4
const SAMPLES_FOR_SPREAD = 3
/** Misses that mean a change: this many in a row, all on one side and all further off than usual. */
const DRIFT_RUN = 3
const DRIFT_LEAST = 0.08
const HALF_LIFE_MS = 30 * 24 * 3600 * 1000
const LEAST_SPREAD = 0.015
/** The samples were fitted, so the next one misses by more than they do. */
const SPREAD_MARGIN = 1.6
const MODELS_KEPT = 200

export function createCalibration(options: CalibrationOptions = {}): Calibration {
  const { clamp = [0.4, 3], window = 20, onEvent = () => {} } = options
  const models = new Map<string, ModelState>(Object.entries(options.state?.models ?? {}))
  const fits = new WeakMap<readonly Sample[], Fit>()

  function fitOf(target: Pick<Target, 'model' | 'endpoint'>): Fit | undefined {
    const samples = models.get(keyOf(target))?.samples
    if (samples === undefined || samples.length === 0) return undefined
    const known = fits.get(samples) ?? fit(samples, clamp)
    fits.set(samples, known)
    return known
  }

  return {
    observe({ target, estimated, real, epoch, currentEpoch, at }) {
      if (epoch !== currentEpoch) return
      const parts = splitOf(estimated)
      const { text, fixed, tools, media } = parts
      if (text + tools + media < LEAST_TOKENS || !(real > fixed / 4)) return
      const key = keyOf(target)
      const before = models.get(key)
      const aged = before === undefined ? [] : age(before, at)
      const sample: Sample = {
        ...parts,
        real,
        weight: Math.min(1, Math.sqrt((text + fixed + tools + media) / FULL_WEIGHT_TOKENS)),
      }
      const { kept, outdated } = withoutOutdated([...aged, believed(sample, fitOf(target))], clamp)
      if (outdated !== undefined) {
        const [from, to] = [fit(outdated, clamp).text, fit(kept, clamp).text]
        onEvent({ type: 'calibration-drifted', model: target.model, from, to })
      }
      models.delete(key)
      models.set(key, { samples: kept.slice(-window), at })
      if (models.size > MODELS_KEPT) models.delete(models.keys().next().value!)
    },
    predict(target, estimated) {
      const learned = fitOf(target)
      if (learned === undefined) return undefined
      let tokens = 0
      for (const [kind, count] of Object.entries(estimated)) {
        if (kind === 'fixed') tokens += count * learned.framing
        else if (kind === 'tools') tokens += count * learned.tools
        else if (kind === 'media') tokens += count * (learned.media ?? 1)
        else tokens += count * (learned.byKind[kind as ContentKind] ?? learned.text)
      }
      return { tokens, ...(learned.spread !== undefined && { spread: learned.spread }) }
    },
    mediaFactorOf(target) {
      const learned = fitOf(target)
      if (learned?.media === undefined) return undefined
      return { factor: learned.media, spread: Math.max(MEDIA_SPREAD, learned.spread ?? 0) }
    },
    evidenceOf: (target) =>
      (models.get(keyOf(target))?.samples ?? []).reduce(
        (sum, sample) => sum + (sample.weight * (sample.text + sample.fixed)) / countedOf(sample),
        0,
      ),
    factorOf(target, kind) {
      const learned = fitOf(target)
      return learned === undefined || kind === undefined ? learned?.text : (learned.byKind[kind] ?? learned.text)
    },
    state: () => ({ v: 1, models: Object.fromEntries(models) }),
  }
}

const keyOf = ({ model, endpoint }: Pick<Target, 'model' | 'endpoint'>): string => `${endpoint ?? ''}|${model}`

/** The parts that have factors of their own, and the class that makes up most of the text. */
function splitOf(estimated: Observation['estimated']): Pick<Sample, 'text' | 'fixed' | 'kind'> & {
  tools: number
  media: number
} {
  const { fixed = 0, tools = 0, media = 0, ...texts } = estimated
  let text = 0
  let kind: ContentKind = 'prose'
  let most = 0
  for (const [name, tokens] of Object.entries(texts)) {
    text += tokens
    if (tokens > most) {
      most = tokens
      kind = name as ContentKind
    }
  }
  return { text, fixed: Math.max(0, fixed), tools: Math.max(0, tools), media: Math.max(0, media), kind }
}

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

const countedOf = ({ text, fixed, tools = 0, media = 0 }: Sample): number => text + fixed + tools + media

const speaks = (sample: Sample, part: 'tools' | 'media'): boolean =>
  (sample[part] ?? 0) > SPEAKING_SHARE * countedOf(sample)

/** Samples lose weight with time, so that a vendor's silent change is overruled sooner after a pause. */
function age({ samples, at: then }: ModelState, now: number): Sample[] {
  const decay = now > then ? 0.5 ** ((now - then) / HALF_LIFE_MS) : 1
  return decay === 1 ? [...samples] : samples.map((sample) => ({ ...sample, weight: sample.weight * decay }))
}

/** What the samples say: factors on each part, and how far off they still are. */
interface Fit extends Factors {
  readonly byKind: Readonly<Partial<Record<ContentKind, number>>>
  readonly spread?: number
  /** Tools were measured. */
  readonly hasTools: boolean
}

interface Factors {
  readonly text: number
  readonly framing: number
  readonly tools: number
  /** Undefined as long as no media was measured. */
  readonly media?: number
}

const UNLEARNED: Factors = { text: 1, framing: 1, tools: 1 }

/**
 * Least absolute relative deviations of `real = text * t + framing * f + tools * g + media * m`, one factor at a time: each step is a
 * weighted median, so a sample with something in it that nobody showed moves nothing.
 */
function fit(samples: readonly Sample[], clamp: readonly [number, number]): Fit {
  const weighted = samples.map((sample, index) => ({
    ...sample,
    weight: sample.weight * RECENCY ** (samples.length - 1 - index),
  }))
  const hasMedia = weighted.some((sample) => speaks(sample, 'media'))
  const hasTools = weighted.some((sample) => speaks(sample, 'tools'))
  let factors: Factors = UNLEARNED
  for (let round = 0; round < ROUNDS; round++) {
    const before = factors
    const text = textFactor(weighted, factors, clamp)
    factors = { ...factors, text }
    const framing = partFactor(weighted, factors, 'fixed', FRAMING_PRIOR_WEIGHT, FRAMING_CLAMP)
    factors = { ...factors, framing }
    const tools = hasTools ? partFactor(weighted, factors, 'tools', TOOLS_PRIOR_WEIGHT, TOOLS_CLAMP) : framing
    factors = { ...factors, tools }
    if (hasMedia) {
      factors = { ...factors, media: partFactor(weighted, factors, 'media', MEDIA_PRIOR_WEIGHT, MEDIA_CLAMP) }
    }
    // A further round would find the same again.
    if (isSame(before, factors)) break
  }
  const byKind: Partial<Record<ContentKind, number>> = {}
  for (const kind of new Set(weighted.map((sample) => sample.kind))) {
    const own = weighted.filter((sample) => sample.kind === kind)
    if (own.length >= SAMPLES_FOR_CLASS) byKind[kind] = textFactor(own, factors, clamp)
  }
  const misses = weighted
    .map((sample) => Math.abs(missOf(sample, { ...factors, text: byKind[sample.kind] ?? factors.text })))
    .sort((a, b) => a - b)
  const usual = misses[Math.min(misses.length - 1, Math.floor(misses.length * 0.9))]!
  return {
    ...factors,
    byKind,
    hasTools,
    ...(samples.length >= SAMPLES_FOR_SPREAD && { spread: Math.max(LEAST_SPREAD, usual * SPREAD_MARGIN) }),
  }
}

const isSame = (a: Factors, b: Factors): boolean =>
  a.text === b.text && a.framing === b.framing && a.tools === b.tools && a.media === b.media

function textFactor(samples: readonly Sample[], factors: Factors, clamp: readonly [number, number]): number {
  return partFactor(samples, factors, 'text', PRIOR_WEIGHT, clamp)
}

/** What is left for this part when the others take what their factors say. */
function partFactor(
  samples: readonly Sample[],
  factors: Factors,
  part: 'text' | 'fixed' | 'tools' | 'media',
  priorWeight: number,
  clamp: readonly [number, number],
): number {
  const values = sortedValues(samples.length + 1)
  values.add(1, priorWeight)
  for (const sample of samples) {
    const counted = sample[part] ?? 0
    if (counted > 0) {
      const rest = sample.real - predictedOf(sample, factors, part)
      values.add(rest / counted, (sample.weight * counted) / sample.real)
    }
  }
  return bounded(values.median(), clamp)
}

const bounded = (value: number, [low, high]: readonly [number, number]): number => Math.min(high, Math.max(low, value))

function predictedOf({ text, fixed, tools = 0, media = 0 }: Sample, factors: Factors, without?: string): number {
  return (
    (without === 'text' ? 0 : text * factors.text) +
    (without === 'fixed' ? 0 : fixed * factors.framing) +
    (without === 'tools' ? 0 : tools * factors.tools) +
    (without === 'media' ? 0 : media * (factors.media ?? 1))
  )
}

/** log(real / predicted) */
const missOf = (sample: Sample, factors: Factors): number =>
  Math.log(sample.real / Math.max(1, predictedOf(sample, factors)))

/** Weighted values in order, few of them and made for each fit of each answer: plain numbers, no objects. */
function sortedValues(most: number): { add(value: number, weight: number): void; median(): number } {
  const values = new Float64Array(most)
  const weights = new Float64Array(most)
  let count = 0
  return {
    add(value, weight) {
      let at = count++
      for (; at > 0 && values[at - 1]! > value; at--) {
        values[at] = values[at - 1]!
        weights[at] = weights[at - 1]!
      }
      values[at] = value
      weights[at] = weight
    },
    /** With interpolation between the two middle values, so that few samples do not make it jump. */
    median() {
      let half = 0
      for (let i = 0; i < count; i++) half += weights[i]!
      half /= 2
      let below = 0
      for (let i = 0; i < count; i++) {
        const middle = below + weights[i]! / 2
        if (middle >= half) {
          if (i === 0) return values[0]!
          const [value, before] = [values[i]!, values[i - 1]!]
          const beforeMiddle = below - weights[i - 1]! / 2
          return before + ((value - before) * (half - beforeMiddle)) / (middle - beforeMiddle)
        }
        below += weights[i]!
      }
      return values[count - 1]!
    },
  }
}

/** After a change of tokenizer only the samples since then speak; `outdated` holds those that no longer do. */
function withoutOutdated(
  samples: readonly Sample[],
  clamp: readonly [number, number],
): { kept: readonly Sample[]; outdated?: readonly Sample[] } {
  const older = samples.slice(0, -DRIFT_RUN)
  const newest = samples.slice(-DRIFT_RUN)
  if (older.length < DRIFT_RUN) return { kept: samples }
  const before = fit(older, clamp)
  // The first media or tools say nothing about a change of the tokenizer.
  if (newest.some((sample) => speaks(sample, 'media')) && before.media === undefined) return { kept: samples }
  const usual = older.map((sample) => Math.abs(missOf(sample, before))).sort((a, b) => a - b)
  const tolerated = Math.max(DRIFT_LEAST, 2 * usual[Math.floor(usual.length / 2)]!)
  const sides = newest.map((sample) => missOf(sample, before))
  const changed = sides.every((side) => side > tolerated) || sides.every((side) => side < -tolerated)
  if (!changed) return { kept: samples }
  return {
    kept: newest.map((sample) => ({ ...sample, weight: Math.max(sample.weight, PRIOR_WEIGHT) })),
    outdated: older,
  }
}
