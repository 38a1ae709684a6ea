import type { Link } from '../../../core/chain.ts'
import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import type { EpochEdit } from '../../../core/records.ts'
import type { Turns } from '../../../core/turns.ts'
import type { WireTraits } from '../../../core/wire-traits.ts'
import type { ArtifactMeta } from '../../../ports/artifact-store.ts'
import type { PresentOptions } from '../../deps.ts'
import type { DescribeResult } from '../summary/narrative.ts'
import type { Readers } from '../../readers/reader-tools.ts'

/** What the cascade works on: a transcript with its first-send edits in place, and the numbers to reach. All pure. */
export interface Draft {
  readonly items: readonly Item[]
  readonly links: readonly Link[]
  readonly turns: Turns
  /** Item indexes that are never folded away: task, newest user message, open step, pending calls, pins, instructions. */
  readonly keep: ReadonlySet<number>
  /** The part of `keep` that stays even where everything else is quoted. */
  readonly pinned: ReadonlySet<number>
  /** Where the open tool step begins. */
  readonly openFrom: number
  /** Upper bound of an item's tokens. */
  readonly tokensOf: (item: Item) => number
  readonly countText: (text: string) => number
  /** Tokens outside the history: instructions, tools, overhead. */
  readonly fixedTokens: number
  readonly limitTokens: number
  readonly windowTokens: number
  /** The design's own estimate of a request with these items; absent where its policy has none. */
  readonly estimate?: (items: readonly Item[]) => number
  /** What a reduction aims at; in likely tokens where there is `likely`. */
  readonly lowTokens: number
  /** The same counts in likely tokens, where the policy gives low water in those. */
  readonly likely?: Pick<Draft, 'tokensOf' | 'countText' | 'fixedTokens'>
  /** Size of the body with first-send edits in place, and what it may be. */
  readonly bytes: number
  readonly limitBytes: number
  readonly handleOf: (content: string | Uint8Array) => Handle
  /** Distance between the window and high water. */
  readonly marginTokens: number
  /** Whether a thought may go while what it led to stays, by the rules of the wire. */
  readonly mayStrip: WireTraits['mayStrip']
  readonly present: (text: string, options: PresentOptions) => string
  /** The same for a text of any length. */
  readonly presentLong: (text: string, options: PresentOptions) => Promise<string>
  readonly readers: Readers
  /** One sentence about a tool's result, for narratives. */
  readonly describeResult: DescribeResult
  /** What a person asked of the summary. */
  readonly instructions?: string
  /** There is a model that may be asked for summaries. */
  readonly hasModel: boolean
  /** It is asked behind the history itself, which has to leave room for the question and its answer. @default false */
  readonly asksInBand?: boolean
}

/** What a step proposes: edits in places of the chain, and the texts that its handles must open. */
export interface Proposal {
  readonly edits: readonly EpochEdit[]
  readonly stored: ReadonlyMap<Handle, StoredText>
  /** Texts of inserted messages that a model may write better; what stands in the edit serves without one. */
  readonly asks?: readonly SummaryAsk[]
}

/** A summary to be asked for: the answer, wrapped, takes the place of the inserted `text`. */
export interface SummaryAsk {
  /** The text that code wrote for this place. */
  readonly text: string
  readonly system: string
  /** Items that the summary stands for. */
  readonly folded: readonly Item[]
  /** Those of them that the model reads. */
  readonly items: readonly Item[]
  /** The request, around a transcript of these. */
  readonly prompt: (transcript: string) => string
  /** What a person asked of this summary. */
  readonly instructions?: string
  readonly maxOutputTokens: number
  /** Tokens of what the summary stands for; one that is as long says nothing. */
  readonly sourceTokens: number
  readonly wrap: (answer: string) => string
  /** Facts that must stand in the result word for word. */
  readonly carried: readonly string[]
  /** What the answer may speak of, and is held against. Absent where a design takes any answer that is a summary in form. */
  readonly history?: readonly Item[]
}

export interface StoredText {
  readonly text: string
  /** Stored in place of the text: a picture or a document. */
  readonly content?: Uint8Array
  readonly mime?: string
  readonly tool?: string
  readonly callId?: string
  /** What is known about the content. */
  readonly about?: ArtifactMeta
}

/** Tokens that stay in view whatever is cut, before the open step: instructions and tools, the task, the newest message, pins. */
export function keptTokens(draft: Pick<Draft, 'items' | 'keep' | 'openFrom' | 'tokensOf' | 'fixedTokens'>): number {
  let sum = draft.fixedTokens
  for (const index of draft.keep) if (index < draft.openFrom) sum += draft.tokensOf(draft.items[index]!)
  return sum
}

/** What people wrote stays whole up to this share of what instructions and tools leave of the limit: the rest is room to work in. */
export const WORDS_SHARE = 0.8

/**
 * The part of the limit that work goes on in: what everything that stays leaves of it. What is to be left free is a share of this: taken from all
 * of the limit, it would cost a long task its middle.
 */
export const workingRoom = (draft: Draft): number =>
  Math.max(draft.limitTokens - keptTokens(draft), (1 - WORDS_SHARE) * (draft.limitTokens - draft.fixedTokens), 0)

export function storedText(item: Item): StoredText {
  const { text, toolName: tool, callId } = item
  return { text, ...(tool !== undefined && { tool }), ...(callId !== undefined && { callId }) }
}

export const NOTHING: Proposal = { edits: [], stored: new Map() }

/** Place of each item in the chain; -1 for items outside it. */
export function linkPlaces(draft: Pick<Draft, 'items' | 'links'>): Int32Array {
  const places = new Int32Array(draft.items.length).fill(-1)
  for (const [k, link] of draft.links.entries()) places[link.index] = k
  return places
}

/** Place of the first chained item at or behind each item; -1 where none follows. */
export function nextPlaces(draft: Pick<Draft, 'items' | 'links'>): Int32Array {
  const places = linkPlaces(draft)
  for (let i = places.length - 2; i >= 0; i--) if (places[i]! < 0) places[i] = places[i + 1]!
  return places
}
