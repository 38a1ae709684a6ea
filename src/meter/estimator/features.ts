/**
 * What one pass over a text counts. Each feature has a weight per tokenizer family (`weights-data.ts`); the estimate is their
 * dot product. Words are the pieces that the o200k pattern cuts: an optional lead character and letters up to a change from
 * lower to upper case.
 */
export const FEATURES = [
  // Words of which the vocabulary has a token, by number of characters with their lead; then those glued to a letter or digit.
  'hit-1',
  'hit-2',
  'hit-3',
  'hit-4',
  'hit-6',
  'hit-8',
  'hit-12',
  'upper-hit-3',
  'upper-hit-6',
  'glued-hit-1',
  'glued-hit-3',
  'glued-hit-6',
  // Known together with a symbol in front of it; other families than o200k often cut there.
  'symbol-lead-hit-2',
  'symbol-lead-hit-4',
  'symbol-lead-hit-7',
  // Known without its lead character: usually two tokens.
  'lead-hit-3',
  'lead-hit-6',
  // Unknown words by number of characters.
  'miss-2',
  'miss-3',
  'miss-4',
  'miss-5',
  'miss-6',
  'miss-7',
  'miss-8',
  'miss-9',
  'miss-10',
  'miss-11',
  'miss-13',
  'miss-16',
  'miss-upper-3',
  'miss-upper-5',
  'miss-upper-8',
  'glued-miss-2',
  'glued-miss-3',
  'glued-miss-4',
  'glued-miss-5',
  'glued-miss-6',
  'glued-miss-8',
  'glued-miss-11',
  // Characters of long words beyond the sixteenth: changing, and repeated.
  'tail',
  // … and of runs too long to be a word.
  'run',
  'tail-repeat',
  // Unknown words of other scripts: the parts that are known, longest first, and the characters between them.
  'latin-part',
  'latin',
  'cyrillic-part',
  'cyrillic',
  'arabic-part',
  'arabic',
  'indic-part',
  'indic',
  'han-part',
  'han',
  'kana-part',
  'kana',
  'hangul-part',
  'hangul',
  'script-part',
  'script',
  'script-repeat',
  'han-repeat',
  // Numbers: groups of up to three digits, and digits.
  'number',
  'digit',
  // Runs of other characters.
  'symbol-1',
  'symbol-2',
  'symbol-hit',
  'symbol-hit-more',
  'symbol-newline',
  'symbol-miss',
  'symbol-tail',
  'symbol-repeat',
  'wide-symbol',
  'astral',
  'astral-repeat',
  'newline',
  'newlines',
  'newline-more',
  'space',
  'indent',
  'indent-more',
  'space-tail',
] as const

export type Feature = (typeof FEATURES)[number]

export const FEATURE_COUNT = FEATURES.length

const INDEX = new Map<string, number>(FEATURES.map((name, index) => [name, index]))

/** Position of a feature; fails at load time, not in a count, when a name is misspelt. */
export function featureIndex(name: Feature): number {
  return INDEX.get(name)!
}

/** A table from length to feature: the last name whose number is not above the length. */
export function byLength(stem: string, longest = 32): Uint8Array {
  const table = new Uint8Array(longest + 1)
  const steps = FEATURES.filter((name) => name.startsWith(`${stem}-`) && /^\d+$/.test(name.slice(stem.length + 1)))
  for (let length = 0; length <= longest; length++) {
    const fitting = steps.filter((name) => Number(name.slice(stem.length + 1)) <= length)
    table[length] = featureIndex(fitting.at(-1) ?? steps[0]!)
  }
  return table
}
