import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import nspell from 'nspell'
import { expect, it } from 'vitest'
import { PAGES, withoutBlocks } from './pages.ts'

const require = createRequire(import.meta.url)
const dictionary = (name: string): ReturnType<typeof nspell> => {
  const folder = dirname(require.resolve(name))
  return nspell(readFileSync(join(folder, 'index.aff')), readFileSync(join(folder, 'index.dic')))
}

/** British and American, since names of the field (artifact, summarizer, color) are American and our prose is not. */
const spellers = [dictionary('dictionary-en-gb'), dictionary('dictionary-en')]
/** Names and words of the field that no dictionary has, one in a line. */
const own = new Set(
  readFileSync(join(import.meta.dirname, 'words.txt'), 'utf8')
    .toLowerCase()
    .split(/\s+/),
)
/** One spelling for what users type and read. */
const wrong = /^(?:summari[s]ers?|artefacts?)$/i

const checked = new Map<string, boolean>()
function isKnown(word: string): boolean {
  const known = checked.get(word)
  if (known !== undefined) return known
  const is = !wrong.test(word) && (own.has(word.toLowerCase()) || spellers.some((speller) => speller.correct(word)))
  checked.set(word, is)
  return is
}

/** Words of the prose: no code, addresses, file names, numbers or abbreviations in capitals. */
const wordsIn = (text: string): readonly string[] =>
  withoutBlocks(text)
    .replaceAll(
      /`[^`]*`|<!--[^]*?-->|<[^>]*>|\]\([^)]*\)|https?:\S+|\S*[@/\\_]\S*|\S+\.(?:ts|md|json|ya?ml|js|sh)\b/g,
      ' ',
    )
    .match(/\p{L}[\p{L}'’]*\p{L}/gu)
    ?.map((word) => word.replaceAll('’', "'").replace(/'s?$/, ''))
    .filter((word) => !/\p{Lu}/u.test(word.slice(1)) && word.length > 2) ?? []

it.each(PAGES)('$file has no misspelt word', ({ text }) => {
  expect([...new Set(wordsIn(text))].filter((word) => !isKnown(word))).toEqual([])
})
