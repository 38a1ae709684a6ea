import { type Count, countFrom, exactly, NO_TOKENS, sumCounts, unknownCount } from '../core/count.ts'
import type { Item } from '../core/item.ts'
import type { ContentKind } from './estimator/kinds.ts'
import type { Overhead } from './overhead.ts'
import { countMedia } from './media/count-media.ts'

/** What counting an item needs to know about where it goes. */
export interface ItemContext {
  readonly model: string
  readonly family: string
  readonly isKnown: boolean
  readonly overhead: Overhead
  countText(text: string): Count
  /** Tokens of sealed content by its seal, as the answer that issued it reported them. */
  readonly hidden?: ReadonlyMap<string, number>
}

/** Sealed content shows its length at best: a ciphertext is about five characters per token that it hides. */
const SEALED_TOKENS_PER_CHARACTER = 0.2
/** Sealed content of which not even a length is seen. */
const SEALED_UNSEEN: Count = unknownCount(400, 0, 4000)

/** An item's words, and what it shows beside them. */
export interface ItemCount {
  readonly words: Count
  readonly media: Count
}

export interface CountedItem extends ItemCount {
  readonly kind: ContentKind
  /** Share of the words that is text: the rest is framing. */
  readonly text: number
}

/** Tokens of one item, its framing as a call or result included; the framing of its message is counted with the whole. */
export function countItem(item: Item, context: ItemContext): ItemCount {
  return {
    words: countWords(item, context),
    media: item.media === undefined ? NO_TOKENS : addMedia(item.media.map((media) => countMedia(media, context))),
  }
}

/** What is wrong about one picture is wrong about the next: their errors add up. */
export function addMedia(counts: readonly Count[]): Count {
  const sum = (of: (count: Count) => number): number => counts.reduce((total, count) => total + of(count), 0)
  return countFrom(
    sum(({ tokens }) => tokens),
    sum(({ low }) => low),
    sum(({ high }) => high),
    sum(({ unsure = 0 }) => unsure),
    sumCounts(counts).source,
  )
}

function countWords(item: Item, context: ItemContext): Count {
  const parts: Count[] = []
  switch (item.kind) {
    case 'call':
      parts.push(
        context.countText(item.text),
        context.countText(item.toolName ?? ''),
        exactly(context.overhead.perCall, 'estimate'),
        signatureOf(item, context.overhead),
      )
      break
    case 'result':
      parts.push(context.countText(item.text), exactly(context.overhead.perResult, 'estimate'))
      break
    case 'reasoning':
    case 'opaque':
      parts.push(item.sealed === true ? countSealed(item, context) : context.countText(item.text))
      break
    case 'instruction':
    case 'user':
    case 'assistant':
    case 'media':
      parts.push(context.countText(item.text))
      break
  }
  return parts.length === 1 ? parts[0]! : sumCounts(parts)
}

/** A signature on a call brings the thoughts before it back, unseen. */
function signatureOf({ sealedCharacters = 0 }: Item, { perSealedCharacter }: Overhead): Count {
  const tokens = Math.round(sealedCharacters * perSealedCharacter)
  return tokens === 0 ? NO_TOKENS : { tokens, low: tokens * 0.4, high: tokens * 1.6, source: 'estimate' }
}

function countSealed(item: Item, context: ItemContext): Count {
  const reported = item.seal === undefined ? undefined : context.hidden?.get(item.seal)
  if (reported !== undefined) return exactly(reported, 'provider')
  const { sealedCharacters = 0 } = item
  if (item.text === '' && sealedCharacters === 0) return SEALED_UNSEEN
  const seen = Math.max(item.text.length, sealedCharacters) * SEALED_TOKENS_PER_CHARACTER
  // Readable thinking with a signature counts as its text; a ciphertext as what it hides. Either may be true of sealed text.
  const text = context.countText(item.text)
  const tokens = Math.max(text.tokens, Math.ceil(seen))
  return { ...unknownCount(tokens, 0, Math.max(text.high, Math.ceil(seen * 2))), high: Math.max(tokens, text.high) }
}
