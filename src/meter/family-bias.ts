import { type Count, countFrom } from '../core/count.ts'

/**
 * How far whole requests of a family have really been off, downwards and upwards, as shares of the estimate. It is wrong in one direction for
 * all of a request, so it is added after the parts are summed. Until a model has been measured, its bounds are this wide.
 */
const BIAS: Readonly<Record<string, readonly [below: number, above: number]>> = {
  // The public vocabularies are the vendor's own.
  o200k: [0, 0],
  cl100k: [0, 0],
  claude: [0.12, 0.24],
  'claude-2026': [0.3, 0.2],
  // Gemma's vocabulary stands in for Gemini's: function responses came out up to a sixth larger.
  gemini: [0.05, 0.16],
}
/** Open models: the vocabulary is theirs where it is installed, the template around it is not known. */
const BIAS_ELSE = [0.08, 0.1] as const

/** `doubt` is 1 for a model that nobody has measured and falls to 0 with what was seen of it. */
export function widened(count: Count, family: string, doubt: number): Count {
  const [below, above] = BIAS[family] ?? BIAS_ELSE
  if (doubt <= 0 || (below === 0 && above === 0)) return count
  const { tokens, low, high, unsure = 0, source } = count
  return countFrom(tokens, Math.max(0, low - tokens * below * doubt), high + tokens * above * doubt, unsure, source)
}
