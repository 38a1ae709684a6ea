import { type PriceModel, ratesFor } from '../../core/price.ts'
import type { ModelFacts } from '../needs.ts'

/** The most that a call can cost: known before it is made. */
export interface CallBound {
  readonly tokens: number
  /** Undefined when nobody knows the model's price. */
  readonly usd?: number
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface CallPlan {
  /** Upper bound of the prompt. */
  readonly inputHigh: number
  /** The request's output cap; without one, the catalogue's maximum. */
  readonly maxOutputTokens?: number
}

/** Output that a model without a catalogued limit is taken to be able to write. */
const MOST_OUTPUT = 128_000

/** Input upper bound times the dearest way to send it (a cache write) plus output cap times the output price. */
export function boundOf(plan: CallPlan, facts: Pick<ModelFacts, 'price' | 'maxOutputTokens'>): CallBound {
  const inputTokens = Math.ceil(plan.inputHigh)
  const outputTokens = plan.maxOutputTokens ?? facts.maxOutputTokens ?? MOST_OUTPUT
  const usd =
    facts.price === undefined
      ? undefined
      : inputUsd(inputTokens, facts.price) + (outputTokens * outputRate(inputTokens, facts.price)) / 1_000_000
  return { tokens: inputTokens + outputTokens, inputTokens, outputTokens, ...(usd !== undefined && { usd }) }
}

function inputUsd(tokens: number, price: PriceModel): number {
  const { input, cacheWrite, cacheWriteLong } = ratesFor(tokens, price)
  return (tokens * Math.max(input, cacheWrite ?? 0, cacheWriteLong ?? 0)) / 1_000_000
}

const outputRate = (inputTokens: number, price: PriceModel): number => ratesFor(inputTokens, price).output

/** Output tokens that still fit beside the prompt in what is left of a budget; negative when not even the prompt does. */
export function affordableOutput(
  bound: CallBound,
  unit: 'tokens' | 'usd',
  left: number,
  price: PriceModel | undefined,
): number {
  if (unit === 'tokens') return left - bound.inputTokens
  if (price === undefined) return bound.outputTokens
  const rate = outputRate(bound.inputTokens, price)
  const afterInput = left - inputUsd(bound.inputTokens, price)
  return rate <= 0 ? (afterInput >= 0 ? bound.outputTokens : -1) : Math.floor((afterInput * 1_000_000) / rate)
}

/** The same call with a shorter answer. */
export function withOutput(bound: CallBound, outputTokens: number, price: PriceModel | undefined): CallBound {
  const saved = bound.outputTokens - outputTokens
  const usd =
    bound.usd === undefined || price === undefined
      ? bound.usd
      : bound.usd - (saved * outputRate(bound.inputTokens, price)) / 1_000_000
  return {
    inputTokens: bound.inputTokens,
    outputTokens,
    tokens: bound.tokens - saved,
    ...(usd !== undefined && { usd }),
  }
}
