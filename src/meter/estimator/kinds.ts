import { FEATURES } from './features.ts'

/** What a text mostly is, as far as the error of an estimate depends on it. */
export const CONTENT_KINDS = ['prose', 'code', 'json', 'logs', 'cjk', 'scripts', 'base64'] as const
export type ContentKind = (typeof CONTENT_KINDS)[number]

const groupOf = (test: (name: string) => boolean): number[] =>
  FEATURES.flatMap((name, index) => (test(name) ? [index] : []))
const CJK = groupOf((name) => /^(han|kana|hangul)/.test(name))
const SCRIPTS = groupOf((name) => /^(latin|cyrillic|arabic|indic|script)/.test(name))
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
  const scripts = sum(features, SCRIPTS)
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

/** Fitted numbers of one tokenizer family: a weight per feature, and how far estimates of each kind were off. */
export interface FamilyFit {
  readonly weights: readonly number[]
  /** Relative error that does not average out, and the one that shrinks with the root of the size. */
  readonly errors: Readonly<Record<ContentKind, readonly [systematic: number, random: number]>>
}
