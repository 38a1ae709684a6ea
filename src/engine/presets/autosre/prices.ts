import type { PriceModel } from '../../../core/price.ts'

/** Prices that the document lists; its default prices whatever else is called. */
export const AUTOSRE_PRICES: Readonly<Record<string, PriceModel>> = {
  'gemini-2.5-flash': { input: 0.15, output: 0.6 },
  'gemini-2.5-pro': { input: 1.25, output: 10 },
  'gemini-2.0-flash': { input: 0.1, output: 0.4 },
  default: { input: 0.5, output: 2 },
}
