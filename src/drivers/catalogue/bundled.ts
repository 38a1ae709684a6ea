import type { Catalogue } from '../../ports/catalogue.ts'
import { CATALOGUE_LINES } from './catalogue-data.ts'
import { type CatalogueOptions, createCatalogue } from './catalogue.ts'
import { supplemented } from './supplement.ts'

/** The catalogue that ships with the package; `lines` of a newer one, as `models update` stores it, take its place. Our corrections hold over both. */
export function bundledCatalogue(options: Partial<CatalogueOptions> = {}): Catalogue {
  return createCatalogue({ ...options, lines: supplemented(options.lines ?? CATALOGUE_LINES) })
}
