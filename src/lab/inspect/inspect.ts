import type { CacheMiss } from '../../core/cache.ts'
import { costOfUsage, type PriceModel } from '../../core/price.ts'
import { addUsage, type Usage } from '../../core/usage.ts'
import {
  distinct,
  slicesOf,
  type Slice,
  growthOf,
  type CompositionLayer,
  type InspectOptions,
  type InspectSource,
  type Growth,
  compositionOf,
  piecesOf,
  type Piece,
} from './measures.ts'
import { recordedCache } from './cache.ts'
import { readAgainOf, type ReadAgain } from './read-again.ts'

export interface BigItem {
  readonly kind: string
  readonly tool?: string
  readonly target?: string
  readonly line: number
  readonly tokens: number
  readonly timesSent: number
  readonly sentTokens: number
}

/** Where the tokens of one recorded session went. Plain data. */
export interface Inspection {
  readonly file: string
  readonly format: string
  readonly name?: string
  readonly model?: string
  readonly window?: number
  readonly calls: number
  readonly messages: number
  /** Each item once. */
  readonly tokens: number
  /** Each item as often as it was sent. */
  readonly sentTokens: number
  readonly slices: readonly Slice[]
  readonly biggest: readonly BigItem[]
  readonly readAgain: readonly ReadAgain[]
  readonly growth: Growth
  /** What each prompt was made of. */
  readonly composition: readonly CompositionLayer[]
  /** As the provider reported it, over all calls that say so. */
  readonly usage?: Usage
  /** List price of what was reported; without the output where that is too small. */
  readonly costUsd?: number
  /** Calls that read less from the provider's cache than they could have, by what usage and times show. */
  readonly misses: readonly (CacheMiss & { readonly call: number })[]
  /** Calls without usage. */
  readonly withoutUsage: number
  /** The reported output is too small: the file kept values from the start of the streams. */
  readonly outputPartial: boolean
  readonly problems: readonly { readonly line: number; readonly message: string }[]
}

/** Reads a recording once; linear in its text. */
export function inspect(source: InspectSource, options: InspectOptions): Inspection {
  const { top = 10 } = options
  const pieces = piecesOf(source, options)
  const growth = growthOf(source, pieces, options)
  const slices = slicesOf(source, pieces, growth.unrecorded, options)
  const usages = source.calls.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const { file, format, name, model, problems } = source
  return {
    file,
    format,
    name,
    model,
    window: options.window,
    calls: source.calls.length,
    messages: source.messages.length,
    tokens: slices.reduce((sum, slice) => sum + slice.tokens, 0),
    sentTokens: slices.reduce((sum, slice) => sum + slice.sentTokens, 0),
    slices,
    biggest: biggestOf(pieces, top),
    readAgain: readAgainOf(pieces).slice(0, top),
    growth,
    composition: compositionOf(source, pieces, growth.points, options),
    usage: usages.length > 0 ? usages.reduce(addUsage) : undefined,
    costUsd: usages.length > 0 && options.price !== undefined ? costOf(source, options.price) : undefined,
    misses: recordedCache(source, () => options.price).flatMap(({ call, seen: { miss } }) =>
      miss === undefined ? [] : [{ call, ...miss }],
    ),
    withoutUsage: source.calls.length - usages.length,
    outputPartial: source.calls.some(({ outputPartial }) => outputPartial === true),
    problems,
  }
}

function costOf({ calls }: InspectSource, price: PriceModel): number {
  return calls.reduce((sum, { usage, outputPartial }) => {
    if (usage === undefined) return sum
    return sum + costOfUsage(outputPartial === true ? { ...usage, output: 0 } : usage, price)
  }, 0)
}

function biggestOf(pieces: readonly Piece[], top: number): readonly BigItem[] {
  return distinct(pieces)
    .toSorted((a, b) => b.tokens - a.tokens)
    .slice(0, top)
    .map(({ part, tool, target, line, tokens, timesSent }): BigItem => ({
      kind: part.kind,
      tool,
      target,
      line,
      tokens: Math.round(tokens),
      timesSent,
      sentTokens: Math.round(tokens * timesSent),
    }))
}

/** Many sessions together. */
export interface Overview {
  readonly sessions: number
  readonly calls: number
  readonly tokens: number
  readonly sentTokens: number
  readonly slices: readonly Slice[]
  readonly usage?: Usage
  /** Of the sessions whose price is known. */
  readonly costUsd?: number
}

export function overviewOf(inspections: readonly Inspection[]): Overview {
  const usages = inspections.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const costs = inspections.flatMap(({ costUsd }) => (costUsd === undefined ? [] : [costUsd]))
  const total = (field: 'calls' | 'tokens' | 'sentTokens') => inspections.reduce((sum, one) => sum + one[field], 0)
  return {
    sessions: inspections.length,
    calls: total('calls'),
    tokens: total('tokens'),
    sentTokens: total('sentTokens'),
    slices: mergedSlices(inspections.flatMap((inspection) => inspection.slices)),
    usage: usages.length > 0 ? usages.reduce(addUsage) : undefined,
    costUsd: costs.length > 0 ? costs.reduce((sum, cost) => sum + cost, 0) : undefined,
  }
}

/** Largest first. */
function mergedSlices(all: readonly Slice[]): readonly Slice[] {
  const byKey = new Map<string, Slice>()
  for (const slice of all) {
    const key = `${slice.kind} ${slice.tool ?? ''}`
    const known = byKey.get(key)
    byKey.set(key, {
      ...slice,
      items: slice.items + (known?.items ?? 0),
      tokens: slice.tokens + (known?.tokens ?? 0),
      sentTokens: slice.sentTokens + (known?.sentTokens ?? 0),
    })
  }
  return [...byKey.values()].sort((a, b) => b.sentTokens - a.sentTokens)
}
