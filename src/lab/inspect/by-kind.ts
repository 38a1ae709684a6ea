import type { Unrecorded } from './growth.ts'
import type { Piece } from './pieces.ts'
import type { InspectOptions, InspectSource } from './source.ts'

/** Tokens of one sort of content. */
export interface Slice {
  /** `system`, `tools`, `unrecorded`, `user`, `assistant`, `reasoning`, `calls`, `media`, `other`, or `results`. */
  readonly kind: string
  /** For results: the tool. */
  readonly tool?: string
  readonly items: number
  /** Each item once. */
  readonly tokens: number
  /** Each item as often as it was sent. */
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

/** What an inspection calls a kind of content. */
export const contentKind = (kind: string): string => KIND[kind] ?? 'other'

/** Where the tokens went, largest first. */
export function slicesOf(
  source: InspectSource,
  pieces: readonly Piece[],
  unrecorded: Unrecorded,
  options: InspectOptions,
): readonly Slice[] {
  const slices = new Map<string, { kind: string; tool?: string; items: number; tokens: number; sentTokens: number }>()
  const add = (kind: string, tool: string | undefined, tokens: number, times: number) => {
    const key = tool === undefined ? kind : `${kind} ${tool}`
    let slice = slices.get(key)
    if (slice === undefined) {
      slice = { kind, items: 0, tokens: 0, sentTokens: 0, ...(tool !== undefined && { tool }) }
      slices.set(key, slice)
    }
    slice.items++
    slice.tokens += tokens
    slice.sentTokens += tokens * times
  }
  const calls = source.calls.length
  if (source.system !== undefined) add('system', undefined, options.countText(source.system), calls)
  for (const tool of source.tools) add('tools', undefined, options.countText(tool.json), calls)
  if (unrecorded.sentTokens > 0) slices.set('unrecorded', { kind: 'unrecorded', items: 1, ...unrecorded })
  for (const { part, tokens, timesSent, tool } of distinct(pieces)) {
    const kind = contentKind(part.kind)
    add(kind, kind === 'results' ? (tool ?? 'unknown tool') : undefined, tokens, timesSent)
  }
  return [...slices.values()]
    .map((slice) => ({ ...slice, tokens: Math.round(slice.tokens), sentTokens: Math.round(slice.sentTokens) }))
    .sort((a, b) => b.sentTokens - a.sentTokens || b.tokens - a.tokens)
}

/** A part that a compaction kept appears twice in the history; it is one item that was sent in both stretches. */
export function distinct(pieces: readonly Piece[]): readonly Piece[] {
  const byPart = new Map<Piece['part'], Piece>()
  for (const piece of pieces) {
    const known = byPart.get(piece.part)
    byPart.set(piece.part, known === undefined ? piece : { ...known, timesSent: known.timesSent + piece.timesSent })
  }
  return [...byPart.values()]
}
