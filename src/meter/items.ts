import { type Count, countFrom, exactly, NO_TOKENS, sumCounts, unknownCount } from '../core/count.ts'
import type { Item } from '../core/item.ts'
import type { ContentKind } from './estimator/estimate.ts'
import { countMedia } from './media.ts'
import type { Overhead } from './overhead.ts'

/**
 * Raw tokens by what they are: kinds of text; `tools`, whose declarations a vendor rewrites; `media`, counted by rules of size;
 * `fixed`, the framing around all of it. Each is wrong in its own way.
 */
export type TokenClass = ContentKind | 'fixed' | 'tools' | 'media'
export type ClassTokens = Readonly<Partial<Record<TokenClass, number>>>

/** A text's tokens, and what it mostly is. */
export interface CountedText {
  readonly count: Count
  readonly kind: ContentKind
}

/** An item's words, and what it shows beside them. */
export interface CountedItem {
  readonly words: Count
  readonly media: Count
  readonly kind: ContentKind
  /** Share of the words that is text: the rest is framing. */
  readonly text: number
}

/** What counting an item needs to know about where it goes. */
export interface Destination {
  readonly model: string
  readonly family: string
  /** Whether the catalogue knows the model. */
  readonly isKnown: boolean
  readonly overhead: Overhead
}

type CountText = (text: string) => CountedText

/**
 * Tokens of one item, its framing as a call or result included; the framing of its message is counted with the whole. `hidden` has the
 * tokens of sealed content by its seal, as the answer that issued it reported them.
 */
export function countItem(
  item: Item,
  to: Destination,
  countText: CountText,
  hidden: ReadonlyMap<string, number> | undefined,
): CountedItem {
  const media = item.media === undefined ? NO_TOKENS : addMedia(item.media.map((one) => countMedia(one, to)))
  if (item.sealed === true && (item.kind === 'reasoning' || item.kind === 'opaque'))
    return { ...countSealed(item, countText, hidden), media }
  const { count, kind } = countText(item.text)
  const { perCall, perResult, perSealedCharacter } = to.overhead
  if (item.kind === 'result') {
    const words = sumCounts([count, exactly(perResult, 'estimate')])
    return { words, media, kind, text: count.tokens }
  }
  if (item.kind !== 'call') return { words: count, media, kind, text: count.tokens }
  const name = countText(item.toolName ?? '').count
  const parts = [count, name, exactly(perCall, 'estimate')]
  // A signature on a call brings the thoughts before it back, unseen.
  const signed = Math.round((item.sealedCharacters ?? 0) * perSealedCharacter)
  if (signed > 0) parts.push({ tokens: signed, low: signed * 0.4, high: signed * 1.6, source: 'estimate' })
  return { words: sumCounts(parts), media, kind, text: count.tokens + name.tokens }
}

/** Sealed content shows its length at best: a ciphertext is about five characters per token that it hides. */
const SEALED_TOKENS_PER_CHARACTER = 0.2
/** Sealed content of which not even a length is seen. */
const SEALED_UNSEEN: Count = unknownCount(400, 0, 4000)

function countSealed(
  { text, seal, sealedCharacters = 0 }: Item,
  countText: CountText,
  hidden: ReadonlyMap<string, number> | undefined,
): Omit<CountedItem, 'media'> {
  const reported = seal === undefined ? undefined : hidden?.get(seal)
  if (reported !== undefined) return { words: exactly(reported, 'provider'), kind: 'prose', text: 0 }
  if (text === '' && sealedCharacters === 0) return { words: SEALED_UNSEEN, kind: 'prose', text: 0 }
  const seen = Math.max(text.length, sealedCharacters) * SEALED_TOKENS_PER_CHARACTER
  // Readable thinking with a signature counts as its text; a ciphertext as what it hides. Either may be true of sealed text.
  const { count, kind } = countText(text)
  const tokens = Math.max(count.tokens, Math.ceil(seen))
  const most = Math.max(count.high, Math.ceil(seen * 2))
  const words = { ...unknownCount(tokens, 0, most), high: Math.max(tokens, count.high) }
  return { words, kind, text: count.tokens }
}

/** Items that were counted, as they add to a request. */
interface CountedItems {
  readonly words: Count
  /** Beside the words, since what is wrong about one picture is wrong about the next. */
  readonly media: Count
  readonly byClass: Partial<Record<TokenClass, number>>
}

export function addItems(items: readonly CountedItem[]): CountedItems {
  const byClass: CountedItems['byClass'] = {}
  for (const { words, media, kind, text } of items) {
    addTokens(byClass, kind, text)
    addTokens(byClass, 'fixed', words.tokens - text)
    addTokens(byClass, 'media', media.tokens)
  }
  const pictures = items.filter(({ media }) => media.tokens > 0)
  return {
    words: sumCounts(items.map(({ words }) => words)),
    media: pictures.length === 0 ? NO_TOKENS : addMedia(pictures.map(({ media }) => media)),
    byClass,
  }
}

/** A class without tokens is not named. */
export function addTokens(sum: Partial<Record<TokenClass, number>>, kind: TokenClass, tokens: number): void {
  if (tokens !== 0) sum[kind] = (sum[kind] ?? 0) + tokens
}

/** What is wrong about one picture is wrong about the next: their errors add up. */
function addMedia(counts: readonly Count[]): Count {
  const sum = (of: (count: Count) => number): number => counts.reduce((total, count) => total + of(count), 0)
  return countFrom(
    sum(({ tokens }) => tokens),
    sum(({ low }) => low),
    sum(({ high }) => high),
    sum(({ unsure = 0 }) => unsure),
    sumCounts(counts).source,
  )
}
