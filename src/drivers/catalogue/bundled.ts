import shipped from './catalogue-data.json' with { type: 'json' }
import type { Catalogue } from '../../ports/catalogue.ts'
import { type CatalogueOptions, createCatalogue } from './catalogue.ts'
import { type CatalogueEntry, writeEntry } from './entry.ts'

export const CATALOGUE_DATE = shipped.date
export const CATALOGUE_LINES = shipped.models.join('\n')

/** The catalogue that ships with the package; `lines` of a newer one, as `models update` stores it, take its place. Our corrections hold over both. */
export function bundledCatalogue(options: Partial<CatalogueOptions> = {}): Catalogue {
  return createCatalogue({ ...options, lines: supplemented(options.lines ?? CATALOGUE_LINES) })
}

/**
 * Additions and corrections to the public price data. They have priority over the shipped list and over what `models update` fetched:
 * to correct a price, change it here. An entry replaces the whole line of its model, so it contains the window, the tiers and
 * the cache minimum too.
 */
export const SUPPLEMENT: readonly (CatalogueEntry & { readonly provider: string })[] = [
  {
    // Prices of Fable 5, except that cached input is read at 0.025 times the input price.
    id: 'claude-fable-5-1',
    provider: 'anthropic',
    window: 1_000_000,
    maxOutputTokens: 128_000,
    rates: { input: 10, output: 50, cacheRead: 0.25, cacheWrite: 12.5, cacheWriteLong: 20 },
    cacheMinimum: 512,
    reasoning: true,
  },
]

/** The lines with ours behind them, which win. */
export const supplemented = (lines: string, entries: readonly CatalogueEntry[] = SUPPLEMENT): string =>
  [lines, ...entries.map((entry) => writeEntry({ ...entry, canonical: true }))].join('\n')
