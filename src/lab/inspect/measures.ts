import type { PriceModel } from '../../core/price.ts'
import { recordOf } from '../../core/values.ts'
import { FILE_KEYS, targetIn } from '../../meter/session/parts.ts'
import type { Part, RecordedCall, RecordedCompaction, Recording } from '../transcripts/recording.ts'

/** The parts of a recording that an inspection reads. */
export interface InspectSource extends Pick<Recording, 'file' | 'name' | 'model' | 'system' | 'tools' | 'problems'> {
  readonly format: string
  readonly messages: readonly { readonly line: number; readonly parts: readonly InspectPart[] }[]
  readonly calls: readonly Pick<RecordedCall, 'index' | 'from' | 'to' | 'usage' | 'outputPartial' | 'at' | 'model'>[]
  readonly compactions: readonly Omit<RecordedCompaction, 'line'>[]
}

type InspectPart = Pick<Part, 'text' | 'callId' | 'toolName' | 'input' | 'mediaBytes'> & { readonly kind: string }

export interface InspectOptions {
  readonly countText: (text: string) => number
  /** The model's window. Without it, the chart has no line for it. */
  readonly window?: number
  /** The model's list price. Without it, no dollars are shown. */
  readonly price?: PriceModel
  /** How many of the biggest items and of the files that were read again are named. @default 10 */
  readonly top?: number
}

/** One part of the history, with its size in tokens. */
export interface Piece {
  readonly part: InspectPart
  readonly line: number
  readonly message: number
  readonly tokens: number
  /** The number of calls in which it was sent. */
  readonly timesSent: number
  /** The tool that was called. */
  readonly tool: string | undefined
  /** The main argument of the call: a path, a command, a pattern. */
  readonly target: string | undefined
}

/** For a picture or document whose size in pixels is unknown. */
const MEDIA_TOKENS = 1500

/** Counts each part once, and in how many calls it was sent. */
export function piecesOf(source: InspectSource, options: InspectOptions): readonly Piece[] {
  const times = timesSent(source)
  const callers = new Map<string, { tool: string | undefined; target: string | undefined }>()
  const pieces: Piece[] = []
  // A message that a compaction kept occurs twice in the list; its text is counted once.
  const known = new Map<InspectPart, number>()
  source.messages.forEach(({ parts, line }, message) => {
    for (const part of parts) {
      if (part.kind === 'call' && part.callId !== undefined) {
        callers.set(part.callId, { tool: part.toolName, target: targetIn(part.input) })
      }
      const caller = part.callId === undefined ? undefined : callers.get(part.callId)
      let tokens = known.get(part)
      if (tokens === undefined) {
        tokens = (part.text === '' ? 0 : options.countText(part.text)) + ((part.mediaBytes ?? 0) > 0 ? MEDIA_TOKENS : 0)
        known.set(part, tokens)
      }
      const tool = part.toolName ?? caller?.tool
      pieces.push({ part, line, message, tokens, timesSent: times[message] ?? 0, tool, target: caller?.target })
    }
  })
  return pieces
}

function timesSent(source: InspectSource): readonly number[] {
  const change = new Int32Array(source.messages.length + 1)
  for (const { from, to } of source.calls) {
    change[from] = (change[from] ?? 0) + 1
    change[to] = (change[to] ?? 0) - 1
  }
  let now = 0
  return Array.from(change.subarray(0, source.messages.length), (step) => (now += step))
}

/** The file that a call reads, if its arguments name one and the call does not write. */
export function fileRead(part: InspectPart): string | undefined {
  if (part.kind !== 'call') return undefined
  const fields = recordOf(part.input) ?? {}
  const writes = ['new_string', 'newString', 'new_text', 'content', 'file_text', 'edits', 'patch'].some(
    (key) => key in fields,
  )
  if (writes) return undefined
  for (const key of FILE_KEYS) if (typeof fields[key] === 'string') return fields[key]
  return undefined
}

/** Tokens of one kind of content. */
export interface Slice {
  /** `system`, `tools`, `unrecorded`, `user`, `assistant`, `reasoning`, `calls`, `media`, `other`, or `results`. */
  readonly kind: string
  /** The tool, for results. */
  readonly tool?: string
  readonly items: number
  /** Tokens of the items, each counted once. */
  readonly tokens: number
  /** Tokens of the items, each counted as often as it was sent. */
  readonly sentTokens: number
}

const KIND: Readonly<Record<string, string>> = {
  instruction: 'system',
  user: 'user',
  assistant: 'assistant',
  reasoning: 'reasoning',
  call: 'calls',
  result: 'results',
  media: 'media',
}

const contentKind = (kind: string): string => KIND[kind] ?? 'other'

/** Tokens by kind of content, largest first. */
export function slicesOf(
  { system, tools, calls }: InspectSource,
  pieces: readonly Piece[],
  unrecorded: Unrecorded,
  { countText }: InspectOptions,
): readonly Slice[] {
  const slices: Slice[] = []
  const add = (kind: string, tool: string | undefined, tokens: number, times: number) =>
    slices.push({ kind, tool, items: 1, tokens, sentTokens: tokens * times })
  if (system !== undefined) add('system', undefined, countText(system), calls.length)
  for (const tool of tools) add('tools', undefined, countText(tool.json), calls.length)
  if (unrecorded.sentTokens > 0) slices.push({ kind: 'unrecorded', items: 1, ...unrecorded })
  for (const { part, tokens, timesSent, tool = UNKNOWN } of distinct(pieces)) {
    const kind = contentKind(part.kind)
    add(kind, kind === 'results' ? tool : undefined, tokens, timesSent)
  }
  return mergedSlices(slices)
    .map((slice) => ({ ...slice, tokens: Math.round(slice.tokens), sentTokens: Math.round(slice.sentTokens) }))
    .sort((a, b) => b.sentTokens - a.sentTokens || b.tokens - a.tokens)
}

/** Merges slices of the same kind; the largest come first. */
export function mergedSlices(all: readonly Slice[]): Slice[] {
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

/** Merges a part that a compaction kept with its copy: it is one item that was sent before and after the compaction. */
export function distinct(pieces: readonly Piece[]): readonly Piece[] {
  const byPart = new Map<Piece['part'], Piece>()
  for (const piece of pieces) {
    const known = byPart.get(piece.part)
    byPart.set(piece.part, known === undefined ? piece : { ...known, timesSent: known.timesSent + piece.timesSent })
  }
  return [...byPart.values()]
}

export interface GrowthPoint {
  readonly call: number
  /** Tokens counted from the recording, plus what the recording does not contain. */
  readonly load: number
  /** Tokens that the provider reported for the same request. */
  readonly reported?: number
}

export interface Growth {
  readonly points: readonly GrowthPoint[]
  /** Indexes of the calls right after a compaction of the recorded client. */
  readonly compactedBefore: readonly number[]
  readonly peak: number
  readonly peakCall: number
  /** Content that the provider counts and the file does not contain: system prompt, tools, older history. */
  readonly unrecorded: Unrecorded
  /** Median over the calls of reported growth ÷ counted growth; 1 means that our counts are right. Absent without usage. */
  readonly ratio?: number
}

export interface Unrecorded {
  /** The least number of tokens in any call. */
  readonly tokens: number
  readonly sentTokens: number
}

export function growthOf(source: InspectSource, pieces: readonly Piece[], options: InspectOptions): Growth {
  const texts = [source.system ?? '', ...source.tools.map(({ json }) => json)]
  const head = texts.reduce((sum, text) => sum + options.countText(text), 0)
  const counted = tokensByCall(source, pieces).map((tokens) => head + tokens)
  const unrecorded = unrecordedOf(source, counted)
  const points = source.calls.map((call, index): GrowthPoint => {
    const load = Math.round((counted[index] ?? 0) + (unrecorded[index] ?? 0))
    return { call: index, load, reported: call.usage?.input }
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
    ratio,
  }
}

/** Tokens of these pieces in each call's prompt. */
function tokensByCall({ messages, calls }: InspectSource, pieces: readonly Piece[]): readonly number[] {
  const inMessage = new Float64Array(messages.length)
  for (const { message, tokens } of pieces) inMessage[message]! += tokens
  let sum = 0
  const before = [0, ...Array.from(inMessage, (tokens) => (sum += tokens))]
  return calls.map(({ from, to }) => before[to]! - before[from]!)
}

/**
 * By call. The first call of each stretch shows it best, because with little history the error of our count is small. A session that continues
 * another file contains that file's history until it is compacted.
 */
function unrecordedOf(source: InspectSource, counted: readonly number[]): readonly number[] {
  const byStretch = new Map<number, number>()
  source.calls.forEach(({ from, usage }, index) => {
    if (usage === undefined || usage.input === 0 || byStretch.has(from)) return
    byStretch.set(from, Math.max(0, Math.round(usage.input - (counted[index] ?? 0))))
  })
  return source.calls.map(({ from }) => byStretch.get(from) ?? 0)
}

// With less growth, the growth is mostly overhead of the wire and says little about the count of the text.
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

/** One kind of content, in each call's prompt. */
export interface CompositionLayer {
  readonly kind: string
  /** The tool, for results. */
  readonly tool?: string
  readonly tokens: readonly number[]
}

/** The results of so many tools are shown separately; those of other tools together. */
const MOST_TOOLS = 6

/** The parts of each prompt, as far as the recording contains them; the rest is `unrecorded`. */
export function compositionOf(
  source: InspectSource,
  pieces: readonly Piece[],
  points: readonly GrowthPoint[],
  options: InspectOptions,
): readonly CompositionLayer[] {
  const named = largestTools(pieces)
  const layers = new Map<string, { kind: string; tool?: string; own: Piece[] }>()
  for (const piece of pieces) {
    const kind = contentKind(piece.part.kind)
    const { tool = UNKNOWN } = piece
    const shown = kind === 'results' && named.has(tool) ? tool : undefined
    const key = JSON.stringify([kind, shown])
    const layer = layers.get(key) ?? { kind, tool: shown, own: [] }
    layer.own.push(piece)
    layers.set(key, layer)
  }
  const counted = Array.from(layers.values(), ({ kind, tool, own }): CompositionLayer => ({
    kind,
    tool,
    tokens: tokensByCall(source, own).map(Math.round),
  }))
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
    // A few tokens are a rounding error.
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
