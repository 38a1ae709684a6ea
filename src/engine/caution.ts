import { mediaBytes, type Item } from '../core/item.ts'
import type { Load } from '../core/target.ts'
import type { PrepareContext } from './context.ts'

/** Four bytes to a token is what designs without a tokenizer assume; the fitted estimate is lower on repetitive text. */
const BYTES_PER_TOKEN = 4

/**
 * How much more than estimated a request may be on a model that no catalogue knows and nobody has measured yet: some
 * tokenizers make more than twice as many tokens. Reported usage ends it. 1 means that the estimate stands.
 */
export function cautionOf({ deps, branch, target }: Pick<PrepareContext, 'deps' | 'branch' | 'target'>): number {
  const { caution = 1 } = deps.policy
  if (caution === 1 || deps.catalogue.resolve(target.model).match !== 'default') return 1
  // Small prompts say little about a tokenizer: caution fades with what was seen and ends with one whole sample.
  const evidence = branch.calibration?.evidenceOf(target) ?? 0
  return caution ** Math.max(0, 1 - evidence)
}

/** Pictures are counted by their size rules; their bytes say nothing about tokens. */
export function cautiousLoad(load: Load, items: readonly Item[], caution: number): Load {
  if (caution === 1) return load
  const bytes = load.bytes - items.reduce((sum, item) => sum + mediaBytes(item), 0)
  return { ...load, count: { ...load.count, high: worst(load.count.high, bytes, caution) } }
}

export const cautiousItem = (item: Item, high: number, caution: number): number =>
  cautiousText(item.text, high, caution)

export const cautiousText = (text: string, high: number, caution: number): number =>
  caution === 1 ? high : worst(high, Buffer.byteLength(text), caution)

const worst = (high: number, bytes: number, caution: number): number =>
  Math.max(high, bytes / BYTES_PER_TOKEN) * caution
