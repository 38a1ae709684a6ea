/** Enough letters to tell a word by, whatever its ending: `test`, `tests` and `tested` are one term, and so is a German `Test`. */
const STEM = 4
/** Words that any two texts share, as stems. */
const COMMON = new Set(
  (
    'abou abov acco afte agai agen also beca been befo bein belo betw coul deci does doin done down duri each else ever find firs from have havi here inte into just last ' +
    'like made make many more most much must need next none noth only othe over plea same shou some stat step summ such take than that thei them then ther thes they this ' +
    'thos thro time unde unti used user uses very want were what when wher whic whil will with work woul your'
  ).split(' '),
)
const WORD = /\p{L}{4,}/gu
/** Scripts that are written without spaces: two characters are a term. */
const UNSPACED =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]{2,}/gu
const HUMP = /(\p{Ll})(\p{Lu})/gu

/** What texts speak of: the beginnings of their words, names taken apart, without what every text says. */
export function termsOf(texts: readonly string[]): Set<string> {
  const terms = new Set<string>()
  for (const text of texts) {
    for (const [run] of text.matchAll(UNSPACED)) for (let i = 1; i < run.length; i++) terms.add(run.slice(i - 1, i + 1))
    for (const [word] of text.replace(HUMP, '$1 $2').matchAll(WORD)) {
      if (UNSPACED_START.test(word)) continue
      const stem = word.slice(0, STEM).toLowerCase()
      if (!COMMON.has(stem)) terms.add(stem)
    }
  }
  return terms
}

const UNSPACED_START = new RegExp(`^${UNSPACED.source}`, 'u')
