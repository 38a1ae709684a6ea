import type { PriceModel } from '../../../core/price.ts'

/** The one price that the document lists. It differs from AutoSRE's for the same model. */
export const ADK_CODE_PRICES: Readonly<Record<string, PriceModel>> = {
  'gemini-2.5-flash': { input: 0.075, output: 0.3 },
}
