import type { CacheMiss, CacheSeen } from '../../core/cache.ts'
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
  fileRead,
} from './measures.ts'
import {
  type CachedCall,
  cachedCall,
  CacheLives,
  expectCache,
  isKnownUsage,
  type SentPrompt,
  seenCache,
} from '../../meter/index.ts'

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
  /** Calls that read less from the provider's cache than they could have, by what usage and times show. */
  readonly misses: readonly (CacheMiss & { readonly call: number })[]
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

/** What the provider's cache did at one call of a recording. */
export interface RecordedCache {
  readonly call: number
  readonly usage: Usage
  readonly seen: CacheSeen
}

/** Four characters make a token, more or less: enough to say whether most of a prompt is still the same. */
const CHARACTERS_PER_TOKEN = 4

/** Predicts each call from those before it, and holds that against the usage that the recording has. Calls without usage or time are left out. */
export function recordedCache(
  { calls, messages, system, model: recorded = 'unknown' }: InspectSource,
  priceOf: (model: string) => PriceModel | undefined,
  lives = new CacheLives(),
): readonly RecordedCache[] {
  const found: RecordedCache[] = []
  const head = system === undefined ? [] : [{ text: system }]
  const partsOf = messages.map(({ parts, line }) => parts.map((item) => ({ text: item.text, item, line })))
  let before: CachedCall | undefined
  for (const { at, usage, index, from, to, model = recorded } of calls) {
    if (at === undefined || !isKnownUsage(usage)) continue
    const own = partsOf.slice(from, to).flat()
    const prompt: SentPrompt = { parts: [...head, ...own], settings: new Map(), marks: [] }
    const placeOf = (part: number): string => {
      const line = own[part - head.length]?.line
      return line === undefined ? (part < head.length ? 'system' : 'the end') : `line ${line}`
    }
    const sizeOf = ({ text }: { readonly text: string }): number => text.length / CHARACTERS_PER_TOKEN
    const expectation = expectCache(lives, { at, model, prompt, price: priceOf(model), sizeOf, placeOf }, before)
    if (before !== undefined) found.push({ call: index, usage, seen: seenCache(lives, expectation, usage) })
    before = cachedCall(expectation, { usage, at })
  }
  return found
}

export interface ReadAgain {
  readonly path: string
  readonly reads: number
  /** Tokens of older reads whose lines a newer read showed again. */
  readonly tokens: number
  /** The same, as often as they were sent after the newer read. */
  readonly sentTokens: number
}

/** Files that were read more than once, the most expensive first. */
function readAgainOf(pieces: readonly Piece[]): readonly ReadAgain[] {
  const pathOf = new Map<string, string>()
  const reads = new Map<string, Piece[]>()
  for (const piece of distinct(pieces)) {
    const { part } = piece
    if (part.callId === undefined) continue
    const path = fileRead(part)
    if (path !== undefined) pathOf.set(part.callId, path)
    const read = part.kind === 'result' ? pathOf.get(part.callId) : undefined
    if (read === undefined) continue
    const group = reads.get(read)
    if (group === undefined) reads.set(read, [piece])
    else group.push(piece)
  }
  return [...reads]
    .filter(([, group]) => group.length > 1)
    .map(([path, group]) => repeatedReads(path, group))
    .filter(({ tokens }) => tokens > 0)
    .sort((a, b) => b.sentTokens - a.sentTokens)
}

/** Reading another part of the file is no repetition, so only lines that a newer read contains again are counted. */
function repeatedReads(path: string, group: readonly Piece[]): ReadAgain {
  const newerLines = new Set<string>()
  let tokens = 0
  let sentTokens = 0
  for (let i = group.length - 1; i >= 0; i--) {
    const read = group[i] as Piece
    const lines = read.part.text
      .split('\n')
      .map(withoutLineNumber)
      .filter((line) => line.length > 2)
    const again = lines.filter((line) => newerLines.has(line)).length
    const share = lines.length === 0 ? 0 : again / lines.length
    const newer = group[i + 1]
    tokens += read.tokens * share
    // The older read was sent in vain in the calls that also contained the newer one.
    sentTokens += read.tokens * share * Math.min(read.timesSent, newer?.timesSent ?? 0)
    for (const line of lines) newerLines.add(line)
  }
  return { path, reads: group.length, tokens: Math.round(tokens), sentTokens: Math.round(sentTokens) }
}

/** Removes a line number (`  12→code`, `12\tcode`, `12: code`): an edit of the file changes numbers of unchanged lines. */
const withoutLineNumber = (line: string): string => line.replace(/^\s*\d+(?:→|\t|: ?|\| ?)/, '').trim()
