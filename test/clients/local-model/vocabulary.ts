import type { Piece } from './gguf.ts'

const SPACE = '▁'

/** Bytes, characters, and the pairs that occur most often in a text, merged one after another: a tokenizer of the usual kind. */
export function vocabularyOf(text: string, merges: number): readonly Piece[] {
  let symbols = Array.from(text.replaceAll(' ', SPACE).replace(/[^\n-~▁]/gu, ''))
  const characters = [...new Set([...Array.from({ length: 95 }, (_, n) => String.fromCharCode(32 + n)), '\n', SPACE])]
  const learned: string[] = []
  for (let n = 0; n < merges; n++) {
    const best = commonestPair(symbols)
    if (best === undefined) break
    learned.push(best.join(''))
    symbols = merged(symbols, best)
  }
  const normal = [...learned, ...characters.filter((character) => character !== ' ')]
  return [
    { text: '<unk>', score: 0, type: 'unknown' },
    { text: '<s>', score: 0, type: 'control' },
    { text: '</s>', score: 0, type: 'control' },
    ...Array.from({ length: 256 }, (_, n): Piece => ({
      text: `<0x${n.toString(16).toUpperCase().padStart(2, '0')}>`,
      score: 0,
      type: 'byte',
    })),
    ...normal.map((piece, rank): Piece => ({ text: piece, score: -rank, type: 'normal' })),
  ]
}

function commonestPair(symbols: readonly string[]): readonly [string, string] | undefined {
  const counts = new Map<string, number>()
  let best: string | undefined
  let most = 1
  for (let i = 1; i < symbols.length; i++) {
    const [left, right] = [symbols[i - 1]!, symbols[i]!]
    // Words stay words: nothing is merged over a space or a line.
    if (right.startsWith(SPACE) || left === '\n' || right === '\n') continue
    const key = `${left}\n${right}`
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    if (count > most) [best, most] = [key, count]
  }
  return best?.split('\n') as [string, string] | undefined
}

function merged(symbols: readonly string[], [left, right]: readonly [string, string]): string[] {
  const out: string[] = []
  for (let i = 0; i < symbols.length; i++) {
    const isPair = symbols[i] === left && symbols[i + 1] === right
    out.push(isPair ? left + right : symbols[i]!)
    if (isPair) i++
  }
  return out
}
