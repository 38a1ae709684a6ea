import { visitIdentifiers } from '../../../core/identifiers.ts'
import type { Item } from '../../../core/item.ts'

/** Names that a model may get wrong before its account counts as invented. */
const INVENTED_LEAST = 3
const INVENTED_SHARE = 0.34
/** A history that uses fewer names than this is judged by its words. */
const NAMES_LEAST = 5
/** Of an account's words, so many occur in what it is about; invented stories share next to nothing but grammar. */
const WORDS_SHARE = 0.25
/** Words that any two texts share. */
const COMMON = new Set(
  'about above after again agent also because been before being below between could does doing down during each from have having here into more most must need only other over please same should some such than that their them then there these they this those through under until user very were what when where which while will with work would your'.split(
    ' ',
  ),
)
const WORD = /\p{L}{5,}/gu
const QUOTED = 8

/** What is wrong with a model's account of a history: it speaks of something else, or of things that never occurred. */
export function accountFault(account: string, items: readonly Item[]): string | undefined {
  const known = namesIn(items.map(({ text }) => text))
  const used = namesIn([account])
  const invented = [...used].filter((name) => !known.has(name) && !isPartOf(name, known))
  if (invented.length >= INVENTED_LEAST && invented.length > INVENTED_SHARE * used.size)
    return `it names what does not occur in the conversation: ${invented.slice(0, QUOTED).join(', ')}`
  const isNamed = [...used].some((name) => known.has(name) || isPartOf(name, known))
  if (isNamed) return undefined
  const said = [...wordsIn([account])]
  const asked = wordsIn(items.filter(({ kind }) => kind === 'user').map(({ text }) => text))
  if (said.some((word) => asked.has(word) && !COMMON.has(word))) return undefined
  const words = wordsIn(items.map(({ text }) => text))
  const shared = said.filter((word) => words.has(word)).length
  if (shared > 0 && shared >= WORDS_SHARE * said.length) return undefined
  return known.size >= NAMES_LEAST
    ? `it names nothing of what happened, such as ${[...known].slice(-QUOTED).join(', ')}`
    : 'it speaks of something else'
}

function namesIn(texts: readonly string[]): Set<string> {
  const names = new Set<string>()
  for (const text of texts) visitIdentifiers(text, (name) => names.add(name))
  return names
}

/** `src/a.ts` for `/repo/src/a.ts`: an account may shorten what it names. */
function isPartOf(name: string, known: ReadonlySet<string>): boolean {
  const end = `/${name}`
  for (const one of known) if (one.endsWith(end) || name.endsWith(`/${one}`)) return true
  return false
}

function wordsIn(texts: readonly string[]): Set<string> {
  const words = new Set<string>()
  for (const text of texts) for (const [word] of text.toLowerCase().matchAll(WORD)) words.add(word)
  return words
}
