import type { Writable } from '../util/writable.ts'
import type { ContentKind } from './estimator/features.ts'

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
  /** Undefined as long as there are too few samples to know it. */
  readonly spread: number | undefined
  /** Tools were measured. */
  readonly hasTools: boolean
}

export interface Factors {
  readonly text: number
  readonly framing: number
  readonly tools: number
  /** Undefined as long as no media was measured. */
  readonly media: number | undefined
}

export const UNLEARNED: Factors = { text: 1, framing: 1, tools: 1, media: undefined }

type Clamp = readonly [low: number, high: number]

/**
 * Least absolute relative deviations of `real = text * t + framing * f + tools * g + media * m`, one factor at a time: each step is a
 * weighted median, so a sample with something in it that nobody showed moves nothing.
 */
export function fit(samples: readonly Sample[], clamp: Clamp): Fit {
  const speaking = fillRows(samples)
  const hasTools = anySpeaks(rows.tools)
  const { text, framing, tools, media } = bestOf(FRAMING_STARTS, clamp, hasTools, anySpeaks(rows.media))
  const byKind = kindFactors({ text: 0, framing, tools, media }, clamp)
  sorted.clear()
  for (let row = 0; row < rows.count; row++) {
    if (rows.isSpeaking[row] !== true) continue
    const predicted = predictedIn(row, byKind[rows.kind[row]!] ?? text, framing, tools, media ?? 1)
    sorted.add(Math.abs(missBetween(rows.real[row]!, predicted)), 1)
  }
  const usual = sorted.at(speaking < SAMPLES_FOR_OUTLIERS ? speaking - 1 : Math.floor((speaking - 1) * 0.9))
  const spread =
    speaking < SAMPLES_FOR_SPREAD ? undefined : Math.min(MOST_SPREAD, Math.max(LEAST_SPREAD, usual * SPREAD_MARGIN))
  return { text, framing, tools, media, byKind, hasTools, spread }
}

/**
 * The samples of one fit in columns of plain numbers that are used again: a fit goes over them some fifty times, and several follow each
 * answer.
 */
const rows = {
  count: 0,
  text: [] as number[],
  fixed: [] as number[],
  tools: [] as number[],
  media: [] as number[],
  real: [] as number[],
  weight: [] as number[],
  kind: [] as ContentKind[],
  /** Newer ones do not contradict it. */
  isSpeaking: [] as boolean[],
}

/** How many of them speak. */
function fillRows(samples: readonly Sample[]): number {
  let speaking = 0
  rows.count = samples.length
  for (let row = 0; row < samples.length; row++) {
    const { text, fixed, tools = 0, media = 0, real, kind, weight, isContradicted } = samples[row]!
    const recent = weight * recencyOf(samples.length - 1 - row)
    rows.text[row] = text
    rows.fixed[row] = fixed
    rows.tools[row] = tools
    rows.media[row] = media
    rows.real[row] = real
    rows.kind[row] = kind
    rows.weight[row] = recent * (isContradicted === true ? CONTRADICTED : 1)
    rows.isSpeaking[row] = isContradicted !== true
    if (isContradicted !== true) speaking++
  }
  return speaking
}

const recencies: number[] = []

const recencyOf = (place: number): number => (recencies[place] ??= RECENCY ** place)

function anySpeaks(part: readonly number[]): boolean {
  const { count, text, fixed, tools, media } = rows
  for (let row = 0; row < count; row++)
    if (part[row]! > SPEAKING_SHARE * (text[row]! + fixed[row]! + tools[row]! + media[row]!)) return true
  return false
}

/** A factor of its own for each class of text that enough samples are mostly of. */
function kindFactors(others: Factors, clamp: Clamp): Fit['byKind'] {
  const counts = new Map<ContentKind, number>()
  for (let row = 0; row < rows.count; row++) {
    const kind = rows.kind[row]!
    if (rows.isSpeaking[row] === true) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  }
  const byKind: Partial<Record<ContentKind, number>> = {}
  for (const [kind, count] of counts)
    if (count >= SAMPLES_FOR_CLASS) byKind[kind] = partFactor(rows.text, others, PRIOR_WEIGHT, clamp, kind)
  return byKind
}

/**
 * From the first start that leaves next to nothing unexplained, else from the one that leaves least. One factor at a time can get no further than
 * a mix that most samples share: there more text and less framing explain the same numbers.
 */
function bestOf(starts: readonly number[], clamp: Clamp, hasTools: boolean, hasMedia: boolean): Factors {
  let enough = 0
  for (let row = 0; row < rows.count; row++) enough += rows.weight[row]!
  enough *= EXPLAINED
  let best: { readonly factors: Factors; readonly left: number } | undefined
  for (const start of starts) {
    const factors = descend(start, clamp, hasTools, hasMedia)
    const missed = missedBy(factors)
    const left =
      missed + PRIOR_WEIGHT * Math.abs(factors.text - 1) + FRAMING_PRIOR_WEIGHT * Math.abs(factors.framing - 1)
    if (best === undefined || left < best.left) best = { factors, left }
    if (missed <= enough) break
  }
  return best?.factors ?? UNLEARNED
}

function descend(start: number, clamp: Clamp, hasTools: boolean, hasMedia: boolean): Factors {
  const factors: Writable<Factors> = { text: 1, framing: start, tools: 1, media: undefined }
  for (let round = 0; round < ROUNDS; round++) {
    const { text, framing, tools, media } = factors
    // The part that is asked about takes nothing itself.
    factors.text = 0
    factors.text = partFactor(rows.text, factors, PRIOR_WEIGHT, clamp)
    factors.framing = 0
    factors.framing = partFactor(rows.fixed, factors, FRAMING_PRIOR_WEIGHT, FRAMING_CLAMP)
    if (hasTools) factors.tools = 0
    factors.tools = hasTools ? partFactor(rows.tools, factors, TOOLS_PRIOR_WEIGHT, TOOLS_CLAMP) : factors.framing
    if (hasMedia) {
      factors.media = 0
      factors.media = partFactor(rows.media, factors, MEDIA_PRIOR_WEIGHT, MEDIA_CLAMP)
    }
    const isSame =
      text === factors.text && framing === factors.framing && tools === factors.tools && media === factors.media
    // A further round would find the same again.
    if (isSame) break
  }
  return factors
}

/** What the factors leave unexplained, as shares of the samples. */
function missedBy({ text, framing, tools, media = 1 }: Factors): number {
  let missed = 0
  for (let row = 0; row < rows.count; row++) {
    const real = rows.real[row]!
    missed += rows.weight[row]! * (Math.abs(real - predictedIn(row, text, framing, tools, media)) / real)
  }
  return missed
}

/** What is left for one part when the others take what their factors say; of one kind, only by the samples that speak. */
function partFactor(
  part: readonly number[],
  { text, framing, tools, media = 1 }: Factors,
  priorWeight: number,
  clamp: Clamp,
  kind?: ContentKind,
): number {
  sorted.clear()
  sorted.add(1, priorWeight)
  for (let row = 0; row < rows.count; row++) {
    const counted = part[row]!
    const isMeant = kind === undefined || (rows.kind[row] === kind && rows.isSpeaking[row] === true)
    if (counted > 0 && isMeant) {
      const real = rows.real[row]!
      const rest = real - predictedIn(row, text, framing, tools, media)
      sorted.add(rest / counted, (rows.weight[row]! * counted) / real)
    }
  }
  return bounded(sorted.median(), clamp)
}

const bounded = (value: number, [low, high]: Clamp): number => Math.min(high, Math.max(low, value))

const predictedIn = (row: number, text: number, framing: number, tools: number, media: number): number =>
  rows.text[row]! * text + rows.fixed[row]! * framing + rows.tools[row]! * tools + rows.media[row]! * media

/** log(real / predicted) */
export const missOf = ({ real, text, fixed, tools = 0, media = 0 }: Sample, factors: Factors): number =>
  missBetween(
    real,
    text * factors.text + fixed * factors.framing + tools * factors.tools + media * (factors.media ?? 1),
  )

const missBetween = (real: number, predicted: number): number => Math.log(real / Math.max(1, predicted))

/** Weighted values in order. Few of them, for each fit of each answer: plain numbers in lists that are used again. */
interface SortedValues {
  clear(): void
  add(value: number, weight: number): void
  /** The value at a place in the order. */
  at(place: number): number
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
    at: (place) => values[place]!,
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
