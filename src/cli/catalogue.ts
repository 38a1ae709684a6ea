import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { bundledCatalogue, CATALOGUE_DATE } from '../drivers/catalogue/bundled.ts'
import type { CatalogueUpdate } from '../drivers/catalogue/update.ts'
import { plimsollHome } from '../plimsoll.ts'
import type { PriceModel } from '../core/price.ts'
import { estimateTokens } from '../meter/index.ts'
import type { Catalogue, ModelInfo } from '../ports/catalogue.ts'

/** The first line of the stored file. If the package is newer than this date, the package's own catalogue is used. */
const HEAD = /^plimsoll catalogue 1, (\d{4}-\d{2}-\d{2})\n/

const fileOf = (): string => join(plimsollHome(), 'catalogue.txt')

let known: Catalogue | undefined

/** The catalogue that `models update` stored if it is newer than the one in the package, else the package's. */
export function knownModels(): Catalogue {
  known ??= bundledCatalogue(storedLines())
  return known
}

function storedLines(): { readonly lines?: string } {
  const file = fileOf()
  if (!existsSync(file)) return {}
  const text = readFileSync(file, 'utf8')
  const [head = '', date = ''] = HEAD.exec(text) ?? []
  return date >= CATALOGUE_DATE && date !== '' ? { lines: text.slice(head.length) } : {}
}

/** Written to a temporary file and renamed, so that a reader never sees half a catalogue. */
export function storeCatalogue({ lines }: CatalogueUpdate, date: string): string {
  const file = fileOf()
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const unfinished = `${file}.${process.pid}`
  writeFileSync(unfinished, `plimsoll catalogue 1, ${date}\n${lines}`, { mode: 0o600 })
  renameSync(unfinished, file)
  known = undefined
  return file
}

/** Puts the vendor's own ids before those of resellers, which add a prefix. */
export const vendorsFirst = (models: readonly ModelInfo[]): readonly ModelInfo[] =>
  [...models].sort((a, b) => Number(isResold(a)) - Number(isResold(b)))

const isResold = ({ id }: ModelInfo): boolean => /\/|^[a-z-]+\.[a-z]/.test(id)

/** A price in dollars per million tokens, for a table. */
export const rate = (usd: number | undefined): string => (usd === undefined ? '' : String(Number(usd.toPrecision(3))))

const families = new Map<string, string>()

/** Counts text for a model with the estimator: it needs no vocabulary and takes well under a second for megabytes. */
export function estimateFor(model = '', text: string): number {
  let family = families.get(model)
  if (family === undefined) {
    family = knownModels().resolve(model).info.tokenizer
    families.set(model, family)
  }
  return estimateTokens(text, family).tokens
}

export function windowOf(model: string | undefined): number | undefined {
  if (model === undefined) return undefined
  const { info, match } = knownModels().resolve(model)
  return match === 'default' ? undefined : info.window
}

export function priceOf(model: string | undefined): PriceModel | undefined {
  if (model === undefined) return undefined
  const { info, match } = knownModels().resolve(model)
  return match === 'default' ? undefined : info.price
}
