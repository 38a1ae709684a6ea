import { costOfUsage, type PriceModel } from '../../core/price.ts'
import { addUsage, type Usage } from '../../core/usage.ts'
import { distinct, slicesOf } from './by-kind.ts'
import type { Slice } from './by-kind.ts'
import { growthOf } from './growth.ts'
import { compositionOf, type CompositionLayer } from './composition.ts'
import type { Growth } from './growth.ts'
import { piecesOf } from './pieces.ts'
import type { Piece } from './pieces.ts'
import { repeatsOf } from './repeats.ts'
import type { Repeats } from './repeats.ts'
import { savingsOf } from './savings.ts'
import type { Saving, SavingOptions } from './savings.ts'
import type { InspectOptions, InspectSource } from './source.ts'

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
  readonly repeats: Repeats
  readonly growth: Growth
  /** What each prompt was made of. */
  readonly composition: readonly CompositionLayer[]
  readonly savings: readonly Saving[]
  /** As the provider reported it, over all calls that say so. */
  readonly usage?: Usage
  /** List price of what was reported; without the output where that is too small. */
  readonly costUsd?: number
  /** Calls without usage. */
  readonly withoutUsage: number
  /** The reported output is too small: the file kept values from the start of the streams. */
  readonly outputPartial: boolean
  readonly problems: readonly { readonly line: number; readonly message: string }[]
}

/** Reads a recording once; linear in its text. */
export function inspect(source: InspectSource, options: InspectOptions & SavingOptions): Inspection {
  const { top = 10 } = options
  const pieces = piecesOf(source, options)
  const growth = growthOf(source, pieces, options)
  const slices = slicesOf(source, pieces, growth.unrecorded, options)
  const repeats = repeatsOf(pieces)
  const usages = source.calls.flatMap(({ usage }) => (usage === undefined ? [] : [usage]))
  const { file, format, name, model, problems } = source
  return {
    file,
    format,
    ...(name !== undefined && { name }),
    ...(model !== undefined && { model }),
    ...(options.window !== undefined && { window: options.window }),
    calls: source.calls.length,
    messages: source.messages.length,
    tokens: slices.reduce((sum, slice) => sum + slice.tokens, 0),
    sentTokens: slices.reduce((sum, slice) => sum + slice.sentTokens, 0),
    slices,
    biggest: biggestOf(pieces, top),
    repeats: {
      ...repeats,
      duplicates: repeats.duplicates.slice(0, top),
      readAgain: repeats.readAgain.slice(0, top),
    },
    growth,
    composition: compositionOf(source, pieces, growth.points, options),
    savings: savingsOf(pieces, repeats, options),
    ...(usages.length > 0 && { usage: usages.reduce(addUsage) }),
    ...(usages.length > 0 && options.price !== undefined && { costUsd: costOf(source, options.price) }),
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
      ...(tool !== undefined && { tool }),
      ...(target !== undefined && { target }),
      line,
      tokens: Math.round(tokens),
      timesSent,
      sentTokens: Math.round(tokens * timesSent),
    }))
}
