import { modelName } from '../../core/model-name.ts'
import type { PriceModel } from '../../core/price.ts'
import type { Catalogue, ModelInfo, Resolution } from '../../ports/catalogue.ts'
import { normaliseId } from './normalise.ts'

/** A user's own word on a model, over the catalogue's. Fields that are left out stay as catalogued. */
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
    resolve: (model) => amend(catalogue.resolve(model), modelName(model)),
    search: (query) => catalogue.search(query).map((info) => amend({ info, match: 'exact' }, info.id).info),
  }
}

export function amendmentOf({ overrides = {}, prices }: Amendments): (found: Resolution, model: string) => Resolution {
  const overridden = new Map(Object.entries(overrides).map(([id, override]) => [id.toLowerCase(), override]))
  return ({ info, match }, model) => {
    const name = normaliseId(model)
    const override = overridden.get(model.toLowerCase()) ?? overridden.get(name)
    const price = prices === undefined ? undefined : priceFor(prices, name)
    if (override === undefined && price === undefined) return { info, match }
    const isSet = override?.window !== undefined && { windowIsSet: true as const }
    const amended = { ...info, ...(price !== undefined && { price }), ...override, ...isSet }
    return { info: amended, match: override?.window !== undefined && match === 'default' ? 'exact' : match }
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
