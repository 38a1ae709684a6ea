import { costOfUsage, type PriceModel } from '../../core/price.ts'
import { addUsage, type Usage } from '../../core/usage.ts'
import {
  distinct,
  mergedSlices,
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

/** Where the tokens of one recorded session went, as plain data. */
export interface Inspection {
  readonly file: string
  readonly format: string
  readonly name?: string
  readonly model?: string
  readonly window?: number
  readonly calls: number
  readonly messages: number
  /** Tokens of the items, each counted once. */
  readonly tokens: number
  /** Tokens of the items, each counted as often as it was sent. */
  readonly sentTokens: number
  readonly slices: readonly Slice[]
  readonly biggest: readonly BigItem[]
  readonly readAgain: readonly ReadAgain[]
  readonly growth: Growth
  /** The parts of each prompt. */
  readonly composition: readonly CompositionLayer[]
  /** Sum of the usage that the provider reported. */
  readonly usage?: Usage
  /** List price of the reported usage; without the output where its count is too small. */
  readonly costUsd?: number
  readonly withoutUsage: number
  /** The reported output is too small, because the file contains values from the start of the streams. */
  readonly outputPartial: boolean
  readonly problems: readonly { readonly line: number; readonly message: string }[]
}

/** Measures a recording in one pass, in time linear in its text. */
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

export interface Overview extends Pick<Inspection, 'calls' | 'tokens' | 'sentTokens' | 'slices' | 'usage' | 'costUsd'> {
  readonly sessions: number
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
