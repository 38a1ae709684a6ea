import type { PriceModel } from '../../core/price.ts'
import { modelName } from '../../core/model-name.ts'
import {
  type CatalogueEntry,
  generationOf,
  headsOf,
  infoOf,
  isOtherGeneration,
  normaliseId,
  readEntry,
  tokenizerOf,
} from './entry.ts'
import type { Catalogue, ModelInfo, Resolution } from '../../ports/catalogue.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import { withoutUndefined } from '../../util/without-undefined.ts'

export interface CatalogueOptions extends Amendments {
  /** Lines as `writeEntry` makes them. */
  readonly lines: string
}

const ONE_MILLION = 1_000_000
/** For models that neither the list nor the user describes. */
const UNKNOWN = { window: 128_000, maxOutputTokens: 4096, reasoning: false, bindsThinking: false }
/** Names of models come from clients, so only the last ones are kept. */
const MOST_RESOLVED = 200

/** Caches results: every request resolves its model about twenty times. */
function remembered(resolve: Catalogue['resolve']): Catalogue['resolve'] {
  const known = new BoundedMap<string, Resolution>(MOST_RESOLVED)
  return (model) => {
    const found = known.get(model) ?? resolve(model)
    // A hostile name may be megabytes long.
    if (model.length <= 512) known.set(model, found)
    return found
  }
}

export function createCatalogue(options: CatalogueOptions): Catalogue {
  let index: ReturnType<typeof indexOf> | undefined

  function find(model: string): { info: ModelInfo; match: Resolution['match'] } {
    index ??= indexOf(options.lines)
    const lower = model.trim().toLowerCase()
    const exact = index.byId.get(lower) ?? index.byId.get(lower.slice(lower.lastIndexOf('/') + 1))
    if (exact !== undefined) return { info: infoOf(exact), match: 'exact' }
    const name = normaliseId(lower)
    const normalised = index.byName.get(name)
    if (normalised !== undefined) return { info: infoOf(normalised), match: 'normalised' }
    for (const head of headsOf(name)) {
      const entry = index.byName.get(head)
      if (entry === undefined) continue
      if (isOtherGeneration(name, head)) break
      return { info: infoOf(entry), match: 'normalised' }
    }
    const sibling = index.newest.get(generationOf(name)?.siblings ?? '')
    if (sibling !== undefined) return { info: infoOf(sibling), match: 'sibling' }
    return { info: { ...UNKNOWN, id: model, tokenizer: tokenizerOf(name) }, match: 'default' }
  }

  const known: Catalogue = {
    resolve: remembered((given) => {
      const model = modelName(given)
      const { info, match } = find(model)
      return { info: /\[1m\]$/i.test(model.trim()) ? { ...info, window: ONE_MILLION } : info, match }
    }),
    search(query) {
      index ??= indexOf(options.lines)
      const words = query
        .toLowerCase()
        .split(/\s+/)
        .filter((word) => word !== '')
      const hits = [...index.byId.values()].filter(({ id }) => words.every((word) => id.includes(word)))
      return hits.map(infoOf)
    },
  }
  return amendedCatalogue(known, options)
}

interface Index {
  readonly byId: Map<string, CatalogueEntry>
  readonly byName: Map<string, CatalogueEntry>
  /** The newest model of each kind and generation. */
  readonly newest: Map<string, CatalogueEntry>
}

function indexOf(lines: string): Index {
  const byId = new Map<string, CatalogueEntry>()
  const byName = new Map<string, CatalogueEntry>()
  for (const line of lines.split('\n')) {
    const entry = readEntry(line)
    if (entry === undefined) continue
    byId.set(entry.id.toLowerCase(), entry)
    const name = normaliseId(entry.id)
    if (!byName.has(name) || entry.canonical === true) byName.set(name, entry)
  }
  const newest = new Map<string, CatalogueEntry>()
  const versions = new Map<string, number>()
  for (const [name, entry] of byName) {
    const { siblings, version } = generationOf(name) ?? { siblings: '', version: 0 }
    if (siblings === '' || version < (versions.get(siblings) ?? 0)) continue
    versions.set(siblings, version)
    newest.set(siblings, entry)
  }
  return { byId, byName, newest }
}

/** A user's facts about a model, which have priority over the catalogue. Omitted fields stay unchanged. */
export type ModelOverride = Partial<Omit<ModelInfo, 'id' | 'windowIsSet'>>

export interface Amendments {
  readonly overrides?: Readonly<Record<string, ModelOverride>>
  /** Prices of a policy, by normalised id or its head; `default` prices what nothing else names. */
  readonly prices?: Readonly<Record<string, PriceModel>>
}

/** Any catalogue with a user's overrides or a policy's prices on top; an override goes before both. */
export function amendedCatalogue(catalogue: Catalogue, amendments: Amendments): Catalogue {
  const { overrides = {}, prices } = amendments
  if (Object.keys(overrides).length === 0 && prices === undefined) return catalogue
  const amend = amendmentOf(amendments)
  return {
    resolve: remembered((model) => amend(catalogue.resolve(model), modelName(model))),
    search: (query) => catalogue.search(query).map((info) => amend({ info, match: 'exact' }, info.id).info),
  }
}

function amendmentOf({ overrides = {}, prices }: Amendments): (found: Resolution, model: string) => Resolution {
  const overridden = new Map(
    Object.entries(overrides).map(([id, override]) => [id.toLowerCase(), withoutUndefined(override)]),
  )
  return ({ info, match }, model) => {
    const name = normaliseId(model)
    const override = overridden.get(model.toLowerCase()) ?? overridden.get(name)
    const price = prices === undefined ? undefined : priceFor(prices, name)
    if (override === undefined && price === undefined) return { info, match }
    const isSet = override?.window !== undefined
    const windowIsSet = isSet ? (true as const) : info.windowIsSet
    const amended = { ...info, price: price ?? info.price, ...override, windowIsSet }
    return { info: amended, match: isSet && match === 'default' ? 'exact' : match }
  }
}

/** The longest name in the table that the model's id starts with. */
function priceFor(prices: Readonly<Record<string, PriceModel>>, name: string): PriceModel | undefined {
  let best: string | undefined
  for (const key of Object.keys(prices)) {
    if (name.startsWith(normaliseId(key)) && (best === undefined || key.length > best.length)) best = key
  }
  return best === undefined ? prices['default'] : prices[best]
}
