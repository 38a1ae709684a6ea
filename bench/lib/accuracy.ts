import { loadGemma, loadTiktoken } from '../../src/drivers/tokenizers/tokenizers.ts'
import { estimateTokens } from '../../src/meter/index.ts'
import { type CountText, ESTIMATOR_NAMES, loadContender } from './contenders.ts'
import { CORPUS_KINDS, type Piece } from './corpus.ts'
import { mean, quantile } from './statistics.ts'
import { percent, row, title } from './table.ts'

/** Errors of the estimator against exact tokenizers on files that it was not fitted on, other estimators beside it. */
export async function benchAccuracy(corpus: readonly Piece[]): Promise<void> {
  const heldOut = corpus.filter((piece) => piece.heldOut)
  await against('o200k', (await loadTiktoken('o200k'))!, heldOut, true)
  await against('cl100k', (await loadTiktoken('cl100k'))!, heldOut, false)
  await against('gemini', (await loadGemma())!, heldOut, false)
}

async function against(family: string, exact: CountText, pieces: readonly Piece[], others: boolean): Promise<void> {
  title(`Estimator against the exact ${family} tokenizer: ${pieces.length} held-out pieces of 600 to 8,000 characters`)
  row('content', ['pieces', 'mean error', 'p95', 'bias', 'in interval'])
  const counted = pieces.map((piece) => ({
    ...piece,
    real: exact(piece.text),
    estimate: estimateTokens(piece.text, family),
  }))
  for (const kind of [...CORPUS_KINDS, 'all'] as const) {
    const own = counted.filter((piece) => kind === 'all' || piece.kind === kind)
    const errors = own.map(({ real, estimate }) => estimate.tokens / real - 1)
    const inside = own.filter(({ real, estimate }) => estimate.low <= real && real <= estimate.high).length / own.length
    row(kind, [
      String(own.length),
      percent(mean(errors.map(Math.abs))),
      percent(quantile(errors.map(Math.abs), 0.95)),
      percent(mean(errors)),
      percent(inside),
    ])
  }
  if (!others) return
  title('Other estimators on the same pieces: mean error / p95')
  row(
    'content',
    ['plimsoll', ...ESTIMATOR_NAMES].map((name) => name.slice(0, 11)),
  )
  const estimators = await Promise.all(ESTIMATOR_NAMES.map(loadContender))
  for (const kind of [...CORPUS_KINDS, 'all'] as const) {
    const own = counted.filter((piece) => kind === 'all' || piece.kind === kind)
    const cells = [(text: string): number => estimateTokens(text, family).tokens, ...estimators].map((estimate) => {
      const errors = own.map(({ text, real }) => Math.abs(estimate(text) / real - 1))
      return `${(mean(errors) * 100).toFixed(1)}/${(quantile(errors, 0.95) * 100).toFixed(0)} %`
    })
    row(kind, cells)
  }
}
