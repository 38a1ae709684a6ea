import type { Count } from '../../core/count.ts'
import { FEATURE_COUNT, FEATURES } from './features.ts'
import { scan } from './scan.ts'
import weights from './weights-data.json' with { type: 'json' }

/** Of one tokenizer family: a weight per feature, in the order of FEATURES, and how far estimates of each kind were off. */
export interface FamilyFit {
  readonly weights: readonly number[]
  /** Relative error that does not average out, and the one that shrinks with the root of the size. */
  readonly errors: Readonly<Record<ContentKind, readonly [systematic: number, random: number]>>
}

/** Written by `scripts/fit-estimator.ts`. */
export const FAMILY_FITS = weights as unknown as Readonly<Record<string, FamilyFit>>

export interface Estimate extends Count {
  readonly kind: ContentKind
}

/** Families without a fit are taken for o200k, with this much more on either side. */
const UNKNOWN_SPREAD = 0.15

const scratch = new Uint32Array(FEATURE_COUNT)

/**
 * Tokens of a text for a tokenizer family, in one pass and without a vocabulary. The interval holds the exact count for at
 * least 95 % of real texts; `npm run bench:tokens` prints by how much.
 */
export function estimateTokens(text: string, family: string): Estimate {
  if (text === '') return { tokens: 0, low: 0, high: 0, source: 'estimate', kind: 'prose' }
  const known = FAMILY_FITS[family]
  const fit = known ?? FAMILY_FITS['o200k']!
  const features = scan(text, scratch)
  let tokens = 0
  for (let i = 0; i < FEATURE_COUNT; i++) tokens += features[i]! * fit.weights[i]!
  tokens = Math.max(1, Math.round(tokens))
  const kind = kindOf(features)
  const [systematic, random] = fit.errors[kind]
  const spread = Math.hypot(systematic + (known === undefined ? UNKNOWN_SPREAD : 0), random / Math.sqrt(tokens))
  const half = Math.ceil(tokens * spread) + 1
  return { tokens, low: Math.max(1, tokens - half), high: tokens + half, source: 'estimate', kind }
}

/** What a text mostly is, as far as the error of an estimate depends on it. */
export const CONTENT_KINDS = ['prose', 'code', 'json', 'logs', 'cjk', 'scripts', 'base64'] as const
export type ContentKind = (typeof CONTENT_KINDS)[number]

const groupOf = (test: (name: string) => boolean): number[] =>
  FEATURES.flatMap((name, index) => (test(name) ? [index] : []))
const CJK = groupOf((name) => /^(han|kana|hangul)/.test(name))
const ALPHABETIC = groupOf((name) => /^(latin|cyrillic|arabic|indic|script)/.test(name))
const GLUED = groupOf((name) => name.startsWith('glued-'))
const WORDS = groupOf((name) => /^(hit|upper-hit|symbol-lead-hit|lead-hit|miss)/.test(name))
const SYMBOLS = groupOf(
  (name) => name === 'symbol-1' || name === 'symbol-2' || name === 'symbol-hit' || name === 'symbol-miss',
)
const NUMBERS = groupOf((name) => name === 'number')
const LAYOUT = groupOf((name) => name === 'indent' || name === 'newlines')
const QUOTED = groupOf((name) => name === 'symbol-hit' || name === 'symbol-2')

/** Names the kind from the features alone, so that it costs nothing on top of the scan. */
export function kindOf(features: Uint32Array): ContentKind {
  const cjk = sum(features, CJK)
  const scripts = sum(features, ALPHABETIC)
  const glued = sum(features, GLUED)
  const words = sum(features, WORDS)
  const symbols = sum(features, SYMBOLS)
  const numbers = sum(features, NUMBERS)
  const layout = sum(features, LAYOUT)
  const pieces = cjk + scripts + glued + words + symbols + numbers + layout
  if (pieces === 0) return 'code'
  if (cjk > pieces * 0.15) return 'cjk'
  if (scripts > pieces * 0.15) return 'scripts'
  if (glued > words * 1.5 && glued > symbols) return 'base64'
  if (sum(features, QUOTED) > pieces * 0.27) return 'json'
  if (numbers > pieces * 0.18) return 'logs'
  if (symbols < pieces * 0.22 && layout < pieces * 0.08) return 'prose'
  return 'code'
}

function sum(features: Uint32Array, indices: readonly number[]): number {
  let total = 0
  for (const index of indices) total += features[index]!
  return total
}
