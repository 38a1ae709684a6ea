/**
 * Fits the weights of the fast estimator against exact tokenizers on the shared data and writes
 * `src/meter/estimator/weights-data.ts`, with a table of errors on held-out files. Run: `npx tsx scripts/fit-estimator.ts`.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fitClaude } from '../bench/lib/claude-fit.ts'
import { loadCorpus, type Piece } from '../bench/lib/corpus.ts'
import { fitWeights, type Row } from '../bench/lib/least-squares.ts'
import { sharedData } from '../bench/lib/shared.ts'
import { quantile } from '../bench/lib/statistics.ts'
import { loadGemma, loadOpenModel, OPEN_MODEL_PACKAGES, loadTiktoken } from '../src/drivers/tokenizers/tokenizers.ts'
import {
  CONTENT_KINDS,
  type ContentKind,
  type FamilyFit,
  FAMILY_FITS,
  kindOf,
} from '../src/meter/estimator/estimate.ts'
import { type Feature, FEATURES } from '../src/meter/estimator/features.ts'
import { scan } from '../src/meter/estimator/scan.ts'

/** Tokens per unit of a feature before any data, where it is not one. */
const PRIORS: Partial<Record<Feature, number>> = {
  tail: 0.4,
  run: 0.45,
  'tail-repeat': 0.13,
  han: 2,
  kana: 1.5,
  hangul: 2,
  script: 1.5,
  'script-repeat': 0.5,
  digit: 0,
  'symbol-hit-more': 0,
  'symbol-newline': 0,
  'newline-more': 0,
  'indent-more': 0,
  'symbol-miss': 2,
  'symbol-tail': 0.4,
  'symbol-repeat': 0.05,
  'wide-symbol': 0.3,
  astral: 2,
  'space-tail': 0.02,
}

const data = sharedData()
if (data === undefined) throw new Error('The fit needs the shared data; set PLIMSOLL_SHARED.')

const o200k = await loadTiktoken('o200k')
const cl100k = await loadTiktoken('cl100k')
const gemma = await loadGemma()
if (o200k === undefined || cl100k === undefined || gemma === undefined) {
  throw new Error('The fit needs the packages gpt-tokenizer and bpe-lite.')
}

const corpus = loadCorpus(data)
const scanned = corpus.map((piece) => ({ piece, x: scan(piece.text) }))
const fits: Record<string, FamilyFit> = {}
fits['o200k'] = fitFamily('o200k', o200k)
fits['cl100k'] = fitFamily('cl100k', cl100k)
fits['gemini'] = fitFamily('gemini', gemma)
// The open models' vocabularies are large; PLIMSOLL_TOKENIZERS names a folder that has them, else the last fit stays.
const elsewhere = process.env['PLIMSOLL_TOKENIZERS']
for (const family of Object.keys(OPEN_MODEL_PACKAGES)) {
  const count = await loadOpenModel(family, elsewhere === undefined ? import.meta.url : `${elsewhere}/package.json`)
  const before = FAMILY_FITS[family]
  if (count !== undefined) fits[family] = fitFamily(family, count)
  else if (before !== undefined) fits[family] = before
}
Object.assign(fits, fitClaude(data, fits['o200k']))

const rounded = Object.entries(fits).map(([family, { weights, errors }]) => [
  family,
  {
    weights: weights.map(round),
    errors: Object.fromEntries(CONTENT_KINDS.map((kind) => [kind, errors[kind].map(round)])),
  },
])
writeFileSync(
  fileURLToPath(new URL('../src/meter/estimator/weights-data.json', import.meta.url)),
  JSON.stringify(Object.fromEntries(rounded), undefined, 2),
)

function fitFamily(family: string, count: (text: string) => number): FamilyFit {
  const observed = scanned.map(({ piece, x }) => ({ piece, x, y: count(piece.text) }))
  const fitted = observed.filter(({ piece }) => !piece.heldOut)
  const perKind = countBy(fitted.map(({ piece }) => piece.kind))
  const rows: Row[] = [
    ...fitted.map(({ piece, x, y }) => ({ x, y, weight: 1 / Math.sqrt(perKind.get(piece.kind)!) })),
    ...monotonous().map((text) => ({ x: scan(text), y: count(text), weight: 0.002 })),
    ...[200, 1000, 4000].map(scrambled).map((text) => ({ x: scan(text), y: count(text), weight: 0.1 })),
  ]
  // Gemma, Qwen and Mistral write each digit as a token, the others up to three at once.
  const digitsApart = count('1234567890') >= 10
  const prior = FEATURES.map((name) =>
    digitsApart && name === 'digit' ? 1 : digitsApart && name === 'number' ? 0 : priorOf(name),
  )
  const weights = fitWeights(rows, prior, 1)
  const errors = Object.fromEntries(
    CONTENT_KINDS.map((kind) => [
      kind,
      spreadOf(
        fitted.filter(({ x }) => kindOf(x) === kind),
        weights,
        floorOf(family, kind),
      ),
    ]),
  ) as Record<ContentKind, [number, number]>
  report(family, observed, weights)
  return { weights, errors }
}

/** Letters in no order, the same in every run. */
function scrambled(length: number): string {
  let state = length
  let text = ''
  while (text.length < length) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    text += String.fromCharCode(97 + ((state >>> 16) % 26))
  }
  return text
}

/** New files differ more than the fitted ones do among themselves, the more so where few were seen. */
function floorOf(family: string, kind: ContentKind): number {
  const rare = kind === 'cjk' || kind === 'scripts'
  return family === 'o200k' ? (rare ? 0.05 : 0.035) : rare ? 0.1 : 0.05
}

/** Runs of one character, which real data holds too rarely to fit and tools do print. */
function monotonous(): string[] {
  const seeds = ['a', 'A', '-', '=', '*', ' ', '\n', '\t', '的', 'あ', '한', '😀', '─', '0', 'ab', 'я']
  return seeds.flatMap((seed) => [40, 400, 4000].map((length) => seed.repeat(Math.ceil(length / seed.length))))
}

/** Relative spread that covers 97 % of the fitted pieces: one part for large ones, one that small ones add. */
function spreadOf(
  rows: readonly { x: Uint32Array; y: number }[],
  weights: readonly number[],
  floor: number,
): [number, number] {
  const residuals = rows.map(({ x, y }) => ({ y, error: Math.abs(dot(x, weights) / y - 1) }))
  if (residuals.length < 8) return [0.08, 0.6]
  const large = residuals.filter(({ y }) => y >= 400)
  const systematic = quantile(
    large.map(({ error }) => error),
    0.97,
  )
  const rest = residuals.map(({ y, error }) => Math.sqrt(Math.max(0, error ** 2 - systematic ** 2)) * Math.sqrt(y))
  return [Math.max(floor, systematic), Math.max(0.3, quantile(rest, 0.97))]
}

function report(
  family: string,
  observed: readonly { piece: Piece; x: Uint32Array; y: number }[],
  weights: readonly number[],
): void {
  console.log(`\n${family}: held-out pieces, error of the estimate`)
  for (const kind of countBy(observed.map(({ piece }) => piece.kind)).keys()) {
    const errors = observed
      .filter(({ piece }) => piece.heldOut && piece.kind === kind)
      .map(({ x, y }) => dot(x, weights) / y - 1)
    const sizes = errors.map(Math.abs)
    const mean = sizes.reduce((sum, value) => sum + value, 0) / sizes.length
    const bias = errors.reduce((sum, value) => sum + value, 0) / errors.length
    console.log(
      `  ${kind.padEnd(8)} n=${String(sizes.length).padStart(4)}  mean ${percent(mean)}  p95 ${percent(quantile(sizes, 0.95))}  bias ${percent(bias)}`,
    )
  }
}

/** What a weight is before any data: whole words are one token, unknown ones more the longer they are. */
function priorOf(feature: Feature): number {
  const length = Number(/\d+$/.exec(feature)?.[0] ?? 0)
  if (/^(glued-|upper-|symbol-lead-)?hit-/.test(feature)) return 1
  if (feature.startsWith('lead-hit')) return 2
  if (feature.includes('miss-')) return Math.max(1.5, 1 + length / 5)
  if (feature.endsWith('-part')) return 1.05
  return PRIORS[feature] ?? 1
}

function dot(x: Uint32Array, weights: readonly number[]): number {
  return x.reduce((sum, value, index) => sum + value * weights[index]!, 0)
}

function countBy<T>(values: readonly T[]): Map<T, number> {
  const counts = new Map<T, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

function round(value: number): number {
  return Number(value.toFixed(4))
}

function percent(value: number): string {
  return `${(value * 100).toFixed(2).padStart(6)} %`
}
