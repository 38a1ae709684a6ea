import type { Writable } from '../lib/writable.ts'
import type { ContentKind } from './estimator/kinds.ts'

/** One measurement, by the parts that have factors of their own. */
export interface Sample {
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
  /** Newer samples contradict it. It is kept: if they were the odd ones, it speaks again. */
  readonly isContradicted?: true
}

/** What was fitted counts as this much of a sample. */
export const PRIOR_WEIGHT = 0.35
/** Framing is a small part of a sample, and clients differ in it more than tokenizers do. */
const FRAMING_PRIOR_WEIGHT = 0.07
const FRAMING_CLAMP = [0.3, 3] as const
const FRAMING_STARTS = [1, ...FRAMING_CLAMP]
/** Share of all samples that may be left unexplained without another start being tried. */
const EXPLAINED = 0.03
/** Vendors rewrite declarations in a form of their own; only whole prompts show what they make of them. */
const TOOLS_PRIOR_WEIGHT = 0.03
const TOOLS_CLAMP = [0.3, 5] as const
/** A rule for pictures may be wrong by any factor on a server that counts otherwise. */
const MEDIA_PRIOR_WEIGHT = 0.02
const MEDIA_CLAMP = [0.002, 500] as const
/** A part speaks for its factor where it is at least this share of what was counted. */
const SPEAKING_SHARE = 0.2
/** What newer samples contradict counts as this much of itself: three of them outweigh a window of older ones. */
export const CONTRADICTED = 0.1
const RECENCY = 0.95
const ROUNDS = 6
const SAMPLES_FOR_CLASS = 4
const SAMPLES_FOR_SPREAD = 3
/** From so many on, the one that is furthest off says nothing about the next. */
const SAMPLES_FOR_OUTLIERS = 5
const LEAST_SPREAD = 0.015
/** Numbers that contradict each other by more say nothing: no tokenizer is further off from one request to the next. */
const MOST_SPREAD = 0.4
/** The samples were fitted, so the next one misses by more than they do. */
const SPREAD_MARGIN = 1.6

export const countedOf = ({ text, fixed, tools = 0, media = 0 }: Sample): number => text + fixed + tools + media

export const speaks = (sample: Sample, part: 'tools' | 'media'): boolean =>
  (sample[part] ?? 0) > SPEAKING_SHARE * countedOf(sample)

/** What the samples say: factors on each part, and how far off they still are. */
export interface Fit extends Factors {
  readonly byKind: Readonly<Partial<Record<ContentKind, number>>>
  readonly spread?: number
  /** Tools were measured. */
  readonly hasTools: boolean
}

export interface Factors {
  readonly text: number
  readonly framing: number
  readonly tools: number
  /** Undefined as long as no media was measured. */
  readonly media?: number
}

export const UNLEARNED: Factors = { text: 1, framing: 1, tools: 1 }

/**
 * Least absolute relative deviations of `real = text * t + framing * f + tools * g + media * m`, one factor at a time: each step is a
 * weighted median, so a sample with something in it that nobody showed moves nothing.
 */
export function fit(samples: readonly Sample[], clamp: readonly [number, number]): Fit {
  const weighted = samples.map(({ text, fixed, tools = 0, media = 0, real, kind, weight, isContradicted }, index) => {
    const recent = weight * RECENCY ** (samples.length - 1 - index)
    return { text, fixed, tools, media, real, kind, weight: recent * (isContradicted === true ? CONTRADICTED : 1) }
  })
  const speaking = weighted.filter((_, index) => samples[index]!.isContradicted !== true)
  const hasTools = weighted.some((sample) => speaks(sample, 'tools'))
  const factors = bestOf(FRAMING_STARTS, weighted, clamp)
  const byKind: Partial<Record<ContentKind, number>> = {}
  for (const kind of new Set(speaking.map((sample) => sample.kind))) {
    const own = speaking.filter((sample) => sample.kind === kind)
    if (own.length >= SAMPLES_FOR_CLASS) byKind[kind] = textFactor(own, factors, clamp)
  }
  const misses = speaking.map((sample) => Math.abs(missOf(sample, factors, byKind[sample.kind]))).sort((a, b) => a - b)
  const usual =
    misses[misses.length < SAMPLES_FOR_OUTLIERS ? misses.length - 1 : Math.floor((misses.length - 1) * 0.9)]!
  return {
    ...factors,
    byKind,
    hasTools,
    ...(speaking.length >= SAMPLES_FOR_SPREAD && {
      spread: Math.min(MOST_SPREAD, Math.max(LEAST_SPREAD, usual * SPREAD_MARGIN)),
    }),
  }
}

/**
 * From the first start that leaves next to nothing unexplained, else from the one that leaves least. One factor at a time can get no further than
 * a mix that most samples share: there more text and less framing explain the same numbers.
 */
function bestOf(starts: readonly number[], samples: readonly Sample[], clamp: readonly [number, number]): Factors {
  const enough = EXPLAINED * samples.reduce((sum, { weight }) => sum + weight, 0)
  let best: { readonly factors: Factors; readonly left: number } | undefined
  for (const framing of starts) {
    const factors = descend({ ...UNLEARNED, framing }, samples, clamp)
    const missed = samples.reduce((sum, sample) => sum + sample.weight * farOff(sample, factors), 0)
    const left =
      missed + PRIOR_WEIGHT * Math.abs(factors.text - 1) + FRAMING_PRIOR_WEIGHT * Math.abs(factors.framing - 1)
    if (best === undefined || left < best.left) best = { factors, left }
    if (missed <= enough) break
  }
  return best?.factors ?? UNLEARNED
}

function descend(start: Factors, samples: readonly Sample[], clamp: readonly [number, number]): Factors {
  const hasMedia = samples.some((sample) => speaks(sample, 'media'))
  const hasTools = samples.some((sample) => speaks(sample, 'tools'))
  const factors: Writable<Factors> = { ...start }
  for (let round = 0; round < ROUNDS; round++) {
    const { text, framing, tools, media } = factors
    factors.text = textFactor(samples, factors, clamp)
    factors.framing = partFactor(samples, factors, 'fixed', FRAMING_PRIOR_WEIGHT, FRAMING_CLAMP)
    factors.tools = hasTools ? partFactor(samples, factors, 'tools', TOOLS_PRIOR_WEIGHT, TOOLS_CLAMP) : factors.framing
    if (hasMedia) factors.media = partFactor(samples, factors, 'media', MEDIA_PRIOR_WEIGHT, MEDIA_CLAMP)
    const isSame =
      text === factors.text && framing === factors.framing && tools === factors.tools && media === factors.media
    // A further round would find the same again.
    if (isSame) break
  }
  return factors
}

/** Share of a sample that the factors leave unexplained. */
const farOff = (sample: Sample, factors: Factors): number =>
  Math.abs(sample.real - predictedOf(sample, factors)) / sample.real

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
  sorted.clear()
  sorted.add(1, priorWeight)
  for (const sample of samples) {
    const counted = sample[part] ?? 0
    if (counted > 0) {
      const rest = sample.real - predictedOf(sample, factors, part)
      sorted.add(rest / counted, (sample.weight * counted) / sample.real)
    }
  }
  return bounded(sorted.median(), clamp)
}

const bounded = (value: number, [low, high]: readonly [number, number]): number => Math.min(high, Math.max(low, value))

function predictedOf(
  { text, fixed, tools = 0, media = 0 }: Sample,
  factors: Factors,
  without?: string,
  textFactor = factors.text,
): number {
  return (
    (without === 'text' ? 0 : text * textFactor) +
    (without === 'fixed' ? 0 : fixed * factors.framing) +
    (without === 'tools' ? 0 : tools * factors.tools) +
    (without === 'media' ? 0 : media * (factors.media ?? 1))
  )
}

/** log(real / predicted); `text` is the factor of the sample's class, where it has one of its own. */
export const missOf = (sample: Sample, factors: Factors, text?: number): number =>
  Math.log(sample.real / Math.max(1, predictedOf(sample, factors, undefined, text)))

/** Weighted values in order. Few of them, for each fit of each answer: plain numbers in lists that are used again. */
interface SortedValues {
  clear(): void
  add(value: number, weight: number): void
  /** With interpolation between the two middle values, so that few samples do not make it jump. */
  median(): number
}

function sortedValues(): SortedValues {
  const values: number[] = []
  const weights: number[] = []
  let count = 0
  return {
    clear() {
      count = 0
    },
    add(value, weight) {
      let at = count++
      for (; at > 0 && values[at - 1]! > value; at--) {
        values[at] = values[at - 1]!
        weights[at] = weights[at - 1]!
      }
      values[at] = value
      weights[at] = weight
    },
    median() {
      let half = 0
      for (let i = 0; i < count; i++) half += weights[i]!
      half /= 2
      let below = 0
      for (let i = 0; i < count; i++) {
        const weight = weights[i]!
        const middle = below + weight / 2
        if (middle >= half) {
          const value = values[i]!
          if (i === 0) return value
          const before = values[i - 1]!
          const beforeMiddle = below - weights[i - 1]! / 2
          return before + ((value - before) * (half - beforeMiddle)) / (middle - beforeMiddle)
        }
        below += weight
      }
      return values[count - 1]!
    },
  }
}

const sorted = sortedValues()
