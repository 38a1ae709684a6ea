import type { PriceModel } from '../../core/price.ts'

/** Prices that the AutoSRE design documents; its default prices whatever else is called. */
export const AUTOSRE_PRICES: Readonly<Record<string, PriceModel>> = {
  'gemini-2.5-flash': { input: 0.15, output: 0.6 },
  'gemini-2.5-pro': { input: 1.25, output: 10 },
  'gemini-2.0-flash': { input: 0.1, output: 0.4 },
  default: { input: 0.5, output: 2 },
}

/** The one price that the adk-code design documents. It differs from AutoSRE's for the same model. */
export const ADK_CODE_PRICES: Readonly<Record<string, PriceModel>> = {
  'gemini-2.5-flash': { input: 0.075, output: 0.3 },
}
