import type { ContentKind } from './estimator/estimate.ts'

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
  /** How far off the factors may be, as a share, and how far off a sample was beside that; undefined as long as there are too few samples to know it. */
  readonly misses: Misses | undefined
  /** Tools were measured. */
  readonly hasTools: boolean
}

/** What is wrong about a sum: its bias, which all of it shares, and misses of its parts, which make up for each other. */
export interface Misses {
  /** Share of the whole. */
  readonly bias: number
  /** Half-width that the independent misses of as many tokens have, by the root of their number. */
  readonly perRoot: number
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

/** Factors on text that are outside are never believed. */
const TEXT_CLAMP: Clamp = [0.4, 3]

/** A sample as a fit sees it: newer ones weigh more, contradicted ones hardly anything. */
interface Row extends Required<Omit<Sample, 'isContradicted'>> {
  /** Newer ones do not contradict it. */
  readonly isSpeaking: boolean
}

/**
 * Least absolute relative deviations of `real = text * t + framing * f + tools * g + media * m`, one factor at a time: each step is a
 * weighted median, so a sample with hidden content moves nothing.
 */
export function fit(samples: readonly Sample[]): Fit {
  const rows = samples.map((sample, i) => rowOf(sample, RECENCY ** (samples.length - 1 - i)))
  const speaking = rows.filter(({ isSpeaking }) => isSpeaking)
  const hasTools = rows.some((row) => speaks(row, 'tools'))
  const hasMedia = rows.some((row) => speaks(row, 'media'))
  const factors = bestOf(rows, hasTools, hasMedia)
  const byKind = kindFactors(rows, factors)
  const counted = speaking.map((row): Counted => {
    const tokens = predicted(row, { ...factors, text: byKind[row.kind] ?? factors.text })
    return { row, tokens, miss: Math.abs(Math.log(row.real / Math.max(1, tokens))) }
  })
  return { ...factors, byKind, hasTools, misses: missesOf(counted.sort((a, b) => a.miss - b.miss)) }
}

/** A sample, what the factors make of it, and how far off that is. */
interface Counted {
  readonly row: Row
  readonly tokens: number
  readonly miss: number
}

/** `sorted`: by how far off they are. The bias is no smaller than what is left when their misses have made up for each other. */
function missesOf(sorted: readonly Counted[]): Misses | undefined {
  if (sorted.length < SAMPLES_FOR_SPREAD) return undefined
  const last = sorted.length - 1
  const telling = sorted.slice(0, 1 + (sorted.length < SAMPLES_FOR_OUTLIERS ? last : Math.floor(last * 0.9)))
  const miss = Math.min(MOST_SPREAD, telling.at(-1)!.miss * SPREAD_MARGIN)
  let [weights, squares, weighted, real, tokens] = [0, 0, 0, 0, 0]
  for (const one of telling) {
    const { weight } = one.row
    weights += weight
    squares += weight ** 2
    weighted += weight * one.row.real
    real += one.row.real
    tokens += one.tokens
  }
  const net = Math.abs(Math.log(real / Math.max(1, tokens))) * SPREAD_MARGIN
  const bias = Math.max(LEAST_SPREAD, net, (miss * Math.sqrt(squares)) / weights)
  return { bias: Math.min(MOST_SPREAD, bias), perRoot: miss * Math.sqrt(weighted / weights) }
}

function rowOf(
  { text, fixed, tools = 0, media = 0, real, kind, weight, isContradicted }: Sample,
  recency: number,
): Row {
  const isSpeaking = isContradicted !== true
  const own = weight * recency * (isSpeaking ? 1 : CONTRADICTED)
  return { text, fixed, tools, media, real, kind, weight: own, isSpeaking }
}

/** A factor of its own for each class of text that enough samples are mostly of. */
function kindFactors(rows: readonly Row[], { framing, tools, media }: Factors): Fit['byKind'] {
  const byKind: Partial<Record<ContentKind, number>> = {}
  for (const kind of new Set(rows.map((row) => row.kind))) {
    const own = rows.filter((row) => row.kind === kind && row.isSpeaking)
    if (own.length >= SAMPLES_FOR_CLASS)
      byKind[kind] = partFactor(own, 'text', { text: 0, framing, tools, media }, PRIOR_WEIGHT, TEXT_CLAMP)
  }
  return byKind
}

/**
 * From the first start that leaves next to nothing unexplained, else from the one that leaves least. One factor at a time can get no further than
 * a mix that most samples share: there more text and less framing explain the same numbers.
 */
function bestOf(rows: readonly Row[], hasTools: boolean, hasMedia: boolean): Factors {
  const enough = rows.reduce((sum, { weight }) => sum + weight, 0) * EXPLAINED
  let best: { readonly factors: Factors; readonly left: number } | undefined
  for (const start of FRAMING_STARTS) {
    const factors = descend(rows, start, hasTools, hasMedia)
    const missed = missedBy(rows, factors)
    const left =
      missed + PRIOR_WEIGHT * Math.abs(factors.text - 1) + FRAMING_PRIOR_WEIGHT * Math.abs(factors.framing - 1)
    if (best === undefined || left < best.left) best = { factors, left }
    if (missed <= enough) break
  }
  return best?.factors ?? UNLEARNED
}

function descend(rows: readonly Row[], start: number, hasTools: boolean, hasMedia: boolean): Factors {
  let factors: Factors = { text: 1, framing: start, tools: 1, media: undefined }
  for (let round = 0; round < ROUNDS; round++) {
    const before = factors
    // The part that is asked about takes nothing itself.
    const text = partFactor(rows, 'text', { ...before, text: 0 }, PRIOR_WEIGHT, TEXT_CLAMP)
    const framing = partFactor(rows, 'fixed', { ...before, text, framing: 0 }, FRAMING_PRIOR_WEIGHT, FRAMING_CLAMP)
    const tools = hasTools
      ? partFactor(rows, 'tools', { ...before, text, framing, tools: 0 }, TOOLS_PRIOR_WEIGHT, TOOLS_CLAMP)
      : framing
    const media = hasMedia
      ? partFactor(rows, 'media', { text, framing, tools, media: 0 }, MEDIA_PRIOR_WEIGHT, MEDIA_CLAMP)
      : undefined
    factors = { text, framing, tools, media }
    const isSame =
      text === before.text && framing === before.framing && tools === before.tools && media === before.media
    // A further round would find the same again.
    if (isSame) break
  }
  return factors
}

/** What the factors leave unexplained, as shares of the samples. */
const missedBy = (rows: readonly Row[], factors: Factors): number =>
  rows.reduce((sum, row) => sum + row.weight * (Math.abs(row.real - predicted(row, factors)) / row.real), 0)

/** What is left for one part when the others take what their factors say. */
function partFactor(
  rows: readonly Row[],
  part: 'text' | 'fixed' | 'tools' | 'media',
  others: Factors,
  priorWeight: number,
  clamp: Clamp,
): number {
  const values: Weighted[] = [{ value: 1, weight: priorWeight }]
  for (const row of rows) {
    const counted = row[part]
    if (counted > 0)
      values.push({ value: (row.real - predicted(row, others)) / counted, weight: (row.weight * counted) / row.real })
  }
  return bounded(weightedMedian(values), clamp)
}

const bounded = (value: number, [low, high]: Clamp): number => Math.min(high, Math.max(low, value))

const predicted = (
  { text, fixed, tools = 0, media = 0 }: Omit<Sample, 'kind' | 'weight' | 'real'>,
  factors: Factors,
): number => text * factors.text + fixed * factors.framing + tools * factors.tools + media * (factors.media ?? 1)

/** log(real / predicted) */
export const missOf = (sample: Sample, factors: Factors): number =>
  Math.log(sample.real / Math.max(1, predicted(sample, factors)))

interface Weighted {
  readonly value: number
  readonly weight: number
}

/** With interpolation between the two middle values, so that few samples do not make it jump. */
function weightedMedian(values: Weighted[]): number {
  values.sort((a, b) => a.value - b.value)
  const half = values.reduce((sum, { weight }) => sum + weight, 0) / 2
  let below = 0
  let before: Weighted | undefined
  for (const each of values) {
    const middle = below + each.weight / 2
    if (middle >= half) {
      if (before === undefined) return each.value
      const start = below - before.weight / 2
      return before.value + ((each.value - before.value) * (half - start)) / (middle - start)
    }
    below += each.weight
    before = each
  }
  return values.at(-1)!.value
}
