import { CONTENT_KINDS, type ContentKind, type FamilyFit } from '../../src/meter/estimator/estimate.ts'
import { FEATURE_COUNT, FEATURES } from '../../src/meter/estimator/features.ts'
import { featuresOfDelta, loadClaudeDeltas } from './claude-deltas.ts'
import { fitRobust } from './least-squares.ts'
import { quantile } from './statistics.ts'

/** No vocabulary of a current Claude is public: its weights start from o200k's and follow what the provider reported. */
const OVER_O200K = 1.12
/** Claude 2's vocabulary, the last public one, needs a third more than o200k on Chinese, Japanese and Korean. */
const OVER_O200K_CJK = 1.34
/** From Opus 4.7 on, over the older tokenizer: 1.42 (prose) to 1.74 (code) times o200k in the few calls that are known. */
const HEAVIER = 1.42
const TOKENS_PER_CALL = 90

/** Spread where the provider's own numbers cover the kind, and where nothing was ever measured. */
const MEASURED: [number, number] = [0.07, 1]
const UNMEASURED: [number, number] = [0.2, 1]
const SPREAD: Record<ContentKind, [number, number]> = {
  prose: MEASURED,
  code: MEASURED,
  json: MEASURED,
  logs: [0.1, 1],
  cjk: UNMEASURED,
  scripts: UNMEASURED,
  base64: UNMEASURED,
}

/** Weights for Claude 4.x from the growth of real sessions, and for the heavier tokenizer after it. */
export function fitClaude(data: string, o200k: FamilyFit): Record<string, FamilyFit> {
  const deltas = loadClaudeDeltas(data).filter(({ tokens }) => tokens > 0)
  const rows = deltas.map((delta) => {
    const x = new Float64Array(FEATURE_COUNT + 1)
    x.set(featuresOfDelta(delta))
    x[FEATURE_COUNT] = delta.calls
    return { x, y: delta.tokens, weight: 1, heldOut: delta.heldOut }
  })
  const prior = FEATURES.map(
    (name, index) => o200k.weights[index]! * (/^(han|kana|hangul)/.test(name) ? OVER_O200K_CJK : OVER_O200K),
  )
  const fitted = fitRobust(
    rows.filter(({ heldOut }) => !heldOut),
    [...prior, TOKENS_PER_CALL],
    1,
    0.02,
  )
  const errors = rows
    .filter(({ heldOut }) => heldOut)
    .map(({ x, y }) => Math.abs(x.reduce((sum, value, index) => sum + value * fitted[index]!, 0) / y - 1))
  console.log(
    `\nclaude: held-out sessions, error of the growth per call: median ${(quantile(errors, 0.5) * 100).toFixed(2)} %, ` +
      `p75 ${(quantile(errors, 0.75) * 100).toFixed(2)} %, n=${errors.length}; ${fitted[FEATURE_COUNT]!.toFixed(0)} tokens per call`,
  )
  const weights = fitted.slice(0, FEATURE_COUNT)
  const heavier = { ...SPREAD }
  for (const kind of CONTENT_KINDS) heavier[kind] = UNMEASURED
  return {
    claude: { weights, errors: SPREAD },
    'claude-2026': { weights: weights.map((weight) => weight * HEAVIER), errors: heavier },
  }
}
