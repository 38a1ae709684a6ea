import type { Catalogue } from '../../ports/catalogue.ts'
import shipped from './catalogue-data.json' with { type: 'json' }
import { type CatalogueOptions, createCatalogue } from './catalogue.ts'
import { supplemented } from './supplement.ts'

export const CATALOGUE_DATE = shipped.date
export const CATALOGUE_LINES = shipped.models.join('\n')

/** The catalogue that ships with the package; `lines` of a newer one, as `models update` stores it, take its place. Our corrections hold over both. */
export function bundledCatalogue(options: Partial<CatalogueOptions> = {}): Catalogue {
  return createCatalogue({ ...options, lines: supplemented(options.lines ?? CATALOGUE_LINES) })
}
