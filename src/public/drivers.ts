/** `plimsoll/drivers`: parts that options accept: catalogues of models, tokenizers, engines for SQL and JavaScript. */
export { bundledCatalogue } from '../drivers/catalogue/bundled.ts'
export { createCatalogue, type CatalogueOptions } from '../drivers/catalogue/catalogue.ts'
export { fetchCatalogue } from '../drivers/catalogue/update.ts'
export { createTokenizers } from '../drivers/tokenizers/tokenizers.ts'
export { quickjsSandbox } from '../drivers/sandbox/quickjs.ts'
export { sqljsEngine } from '../drivers/sandbox/sqljs.ts'
