import type { Piece } from './pieces.ts'
import type { InspectOptions, InspectSource } from './source.ts'

export interface GrowthPoint {
  readonly call: number
  /** Counted from the recording, with what the recording does not show. */
  readonly load: number
  /** What the provider reported for the same request. */
  readonly reported?: number
}

export interface Growth {
  readonly points: readonly GrowthPoint[]
  /** Calls before which the recorded client compacted. */
  readonly compactedBefore: readonly number[]
  readonly peak: number
  readonly peakCall: number
  /** System prompt, tools, older history: what the provider counts and the file does not have. */
  readonly unrecorded: Unrecorded
  /** Reported ÷ counted growth, the median over calls; 1 means that the counting is right. Absent without usage. */
  readonly ratio?: number
}

export interface Unrecorded {
  /** In each call, at least. */
  readonly tokens: number
  readonly sentTokens: number
}

export function growthOf(source: InspectSource, pieces: readonly Piece[], options: InspectOptions): Growth {
  const before = new Float64Array(source.messages.length + 1)
  for (const piece of pieces) before[piece.message + 1] = (before[piece.message + 1] ?? 0) + piece.tokens
  for (let i = 1; i < before.length; i++) before[i] = (before[i] ?? 0) + (before[i - 1] ?? 0)
  let head = source.system === undefined ? 0 : options.countText(source.system)
  for (const tool of source.tools) head += options.countText(tool.json)
  const counted = source.calls.map(({ from, to }) => head + (before[to] ?? 0) - (before[from] ?? 0))
  const unrecorded = unrecordedOf(source, counted)
  const points = source.calls.map((call, index): GrowthPoint => {
    const load = Math.round((counted[index] ?? 0) + (unrecorded[index] ?? 0))
    return { call: index, load, ...(call.usage !== undefined && { reported: call.usage.input }) }
  })
  let peak = 0
  let peakCall = 0
  for (const { call, load, reported = load } of points) {
    if (reported <= peak) continue
    peak = reported
    peakCall = call
  }
  const ratio = ratioOf(source, counted)
  return {
    points,
    compactedBefore: source.compactions.map(({ beforeCall }) => beforeCall),
    peak,
    peakCall,
    unrecorded: {
      tokens: Math.min(...(unrecorded.length > 0 ? unrecorded : [0])),
      sentTokens: unrecorded.reduce((sum, tokens) => sum + tokens, 0),
    },
    ...(ratio !== undefined && { ratio }),
  }
}

/**
 * Per call. The first call of each stretch shows it best: little history, so little error of counting. A session that goes on
 * from another file has that one's history in it until it is compacted.
 */
function unrecordedOf(source: InspectSource, counted: readonly number[]): readonly number[] {
  const byStretch = new Map<number, number>()
  source.calls.forEach(({ from, usage }, index) => {
    if (usage === undefined || usage.input === 0 || byStretch.has(from)) return
    byStretch.set(from, Math.max(0, Math.round(usage.input - (counted[index] ?? 0))))
  })
  return source.calls.map(({ from }) => byStretch.get(from) ?? 0)
}

// Below this the growth is mostly overhead of the wire and says nothing about the counting of text.
const TELLING_GROWTH = 500

function ratioOf(source: InspectSource, counted: readonly number[]): number | undefined {
  const ratios: number[] = []
  for (let i = 1; i < source.calls.length; i++) {
    const [last, next] = [source.calls[i - 1], source.calls[i]]
    if (last?.usage === undefined || next?.usage === undefined || last.from !== next.from) continue
    const estimate = (counted[i] ?? 0) - (counted[i - 1] ?? 0)
    const real = next.usage.input - last.usage.input
    if (estimate >= TELLING_GROWTH && real > 0) ratios.push(real / estimate)
  }
  ratios.sort((a, b) => a - b)
  return ratios[ratios.length >> 1]
}
