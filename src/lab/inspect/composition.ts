import { contentKind } from './by-kind.ts'
import type { GrowthPoint } from './growth.ts'
import type { Piece } from './pieces.ts'
import type { InspectOptions, InspectSource } from './source.ts'

/** One sort of content in each call's prompt. */
export interface CompositionLayer {
  readonly kind: string
  /** For results: the tool. */
  readonly tool?: string
  /** By call. */
  readonly tokens: readonly number[]
}

/** Results of so many tools have a layer of their own; those of the others share one. */
const MOST_TOOLS = 6

/** What each prompt was made of, as far as the recording shows it; `unrecorded` is the rest of its load. */
export function compositionOf(
  source: InspectSource,
  pieces: readonly Piece[],
  points: readonly GrowthPoint[],
  options: InspectOptions,
): readonly CompositionLayer[] {
  const layers = new Map<string, { kind: string; tool?: string; before: Float64Array }>()
  const named = largestTools(pieces)
  for (const { part, tool = UNKNOWN, message, tokens } of pieces) {
    const kind = contentKind(part.kind)
    const own = kind === 'results' && named.has(tool) ? { tool } : {}
    const key = JSON.stringify([kind, own.tool])
    let layer = layers.get(key)
    if (layer === undefined)
      layers.set(key, (layer = { kind, ...own, before: new Float64Array(source.messages.length + 1) }))
    layer.before[message + 1]! += tokens
  }
  const counted = Array.from(layers.values(), ({ before, ...layer }): CompositionLayer => {
    for (let i = 1; i < before.length; i++) before[i]! += before[i - 1]!
    return { ...layer, tokens: source.calls.map(({ from, to }) => Math.round(before[to]! - before[from]!)) }
  })
  const fixed = (kind: string, texts: readonly string[]): readonly CompositionLayer[] => {
    const tokens = Math.round(texts.reduce((sum, text) => sum + options.countText(text), 0))
    return tokens === 0 ? [] : [{ kind, tokens: points.map(() => tokens) }]
  }
  const all = [
    ...fixed('system', source.system === undefined ? [] : [source.system]),
    ...fixed(
      'tools',
      source.tools.map(({ json }) => json),
    ),
    ...counted,
  ]
  const rest = points.map(({ load }, call) => {
    const known = all.reduce((sum, { tokens }) => sum + tokens[call]!, 0)
    // A few tokens are what rounding leaves.
    return load - known > all.length ? load - known : 0
  })
  return rest.some((tokens) => tokens > 0) ? [{ kind: 'unrecorded', tokens: rest }, ...all] : all
}

const UNKNOWN = 'unknown tool'

function largestTools(pieces: readonly Piece[]): ReadonlySet<string> {
  const sent = new Map<string, number>()
  for (const { part, tool = UNKNOWN, tokens, timesSent } of pieces)
    if (part.kind === 'result') sent.set(tool, (sent.get(tool) ?? 0) + tokens * timesSent)
  const largest = [...sent].sort((a, b) => b[1] - a[1]).slice(0, MOST_TOOLS)
  return new Set(largest.map(([tool]) => tool))
}
