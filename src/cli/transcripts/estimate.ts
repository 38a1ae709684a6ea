import { estimateTokens } from '../../meter/index.ts'
import type { PriceModel } from '../../core/price.ts'
import { knownModels } from '../catalogue.ts'

const families = new Map<string, string>()

/** Counts text for a model with the estimator: megabytes in well under a second, and no vocabulary to load. */
export function estimateFor(model = '', text: string): number {
  let family = families.get(model)
  if (family === undefined) {
    family = knownModels().resolve(model).info.tokenizer
    families.set(model, family)
  }
  return estimateTokens(text, family).tokens
}

/** The model's window, when the catalogue knows the model. */
export function windowOf(model: string | undefined): number | undefined {
  if (model === undefined) return undefined
  const { info, match } = knownModels().resolve(model)
  return match === 'default' ? undefined : info.window
}

/** Its list price, when the catalogue knows one. */
export function priceOf(model: string | undefined): PriceModel | undefined {
  if (model === undefined) return undefined
  const { info, match } = knownModels().resolve(model)
  return match === 'default' ? undefined : info.price
}
