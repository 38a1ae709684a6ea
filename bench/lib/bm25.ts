/** The yardstick of a search: BM25 over passages, with the stemming of plurals and nothing else. */

const LONGEST_PASSAGE = 800
const [K1, B] = [1.2, 0.75]

/** Paragraphs, cut at lines where they are long. */
export function passagesOf(text: string): string[] {
  const passages: string[] = []
  for (const paragraph of text.split(/\n{2,}/)) {
    let passage = ''
    for (const line of paragraph.split('\n')) {
      if (passage !== '' && passage.length + line.length > LONGEST_PASSAGE) {
        passages.push(passage)
        passage = ''
      }
      passage += passage === '' ? line : `\n${line}`
    }
    if (passage.trim() !== '') passages.push(passage)
  }
  return passages
}

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).map((word) => word.replace(/(?:ing|ed|es|s)$/, ''))

/** A search that gives the best passages, joined, within so many characters. */
export function bm25(passages: readonly string[]): (query: string, characters: number) => string {
  const postings = new Map<string, Map<number, number>>()
  const lengths = passages.map((passage, i) => {
    const words = wordsOf(passage)
    for (const word of words) {
      const places = postings.get(word) ?? new Map<number, number>()
      postings.set(word, places.set(i, (places.get(i) ?? 0) + 1))
    }
    return words.length
  })
  const mean = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length)
  return (query, characters) => {
    const scores = new Map<number, number>()
    for (const word of new Set(wordsOf(query))) {
      const places = postings.get(word)
      if (places === undefined) continue
      const rarity = Math.log(1 + (passages.length - places.size + 0.5) / (places.size + 0.5))
      for (const [i, count] of places) {
        const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + (B * lengths[i]!) / mean))
        scores.set(i, (scores.get(i) ?? 0) + rarity * weight)
      }
    }
    let answer = ''
    const seen = new Set<string>()
    for (const [i] of [...scores].sort((one, other) => other[1] - one[1])) {
      const passage = passages[i]!
      if (seen.has(passage)) continue
      seen.add(passage)
      if (answer.length + passage.length + 1 > characters) break
      answer += `${passage}\n`
    }
    return answer
  }
}
