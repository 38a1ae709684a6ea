const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}'’]*/gu
/** A word in more than about one of this many texts (e²) says nothing about one of them. */
const COMMON = 2
/** More words than this are data, and no text becomes worth more by being longer. */
const MOST_WORDS = 400

/**
 * How much each of some texts says that few others say: the words in it, each by how rare it is among them. Beside its length this tells
 * "The first sprint ends on March 29" from "Thanks, that sounds great!".
 */
export function worthsOf(texts: readonly string[]): readonly number[] {
  const words = texts.map((text) => new Set((text.toLowerCase().match(WORD) ?? []).slice(0, MOST_WORDS)))
  const counts = new Map<string, number>()
  for (const set of words) for (const word of set) counts.set(word, (counts.get(word) ?? 0) + 1)
  return words.map((set) =>
    [...set].reduce((sum, word) => sum + Math.max(0, Math.log(1 + texts.length / counts.get(word)!) - COMMON), 0),
  )
}
