export { bundledCatalogue, CATALOGUE_DATE } from './bundled.ts'
export {
  amendedCatalogue,
  type Amendments,
  type CatalogueOptions,
  createCatalogue,
  type ModelOverride,
} from './catalogue.ts'
export { normaliseId } from './entry.ts'
export { type CatalogueSource, type CatalogueUpdate, fetchCatalogue, type UpdateOptions } from './update.ts'
