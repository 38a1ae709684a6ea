import { stemmer as english } from '@orama/stemmers/english'
import { stemmer as french } from '@orama/stemmers/french'
import { stemmer as german } from '@orama/stemmers/german'
import { stemmer as italian } from '@orama/stemmers/italian'
import { stemmer as dutch } from '@orama/stemmers/dutch'
import { stemmer as portuguese } from '@orama/stemmers/portuguese'
import { stemmer as russian } from '@orama/stemmers/russian'
import { stemmer as spanish } from '@orama/stemmers/spanish'

/*
 * One definition of a word for every store and for `recall`, so that a search gives the same results on each: runs of letters and digits, in lower
 * case, reduced to their stem. Names in code are found by their parts and whole (`readFile`, `read_file`, `src/read.ts`). Scripts without spaces
 * are indexed by character and by pair of characters.
 */

interface Language {
  readonly stem: (word: string) => string
  /** Frequent words: they identify the language and are left out of queries. */
  readonly common: ReadonlySet<string>
}

const language = (stem: (word: string) => string, common: string): Language => ({
  stem,
  common: new Set(common.split(' ')),
})

const ENGLISH = language(
  english,
  'a about am an and any are as at be because been but by can could d did didn do does doesn doing don down each few for from had has have having he her here him his how i if in into is isn it its just ll m me more most my no nor not of off on or other our out over own re s same she should so some such t than that the their them then there these they this those through to too under up ve very was wasn we were what when where which while who whom whose why will with won would you your',
)
const LATIN: readonly Language[] = [
  ENGLISH,
  language(
    german,
    'aber als am an auch auf aus bei bin bis das dass dem den der des die doch durch ein eine einem einen einer er es für hat habe haben ich ihr im in ist ja kann man mein mich mir mit nach nicht noch nur oder sein sich sie sind so über um und uns unter vom von vor wann war warum was wem wen wenn wer werden wie wir wird wo zu zum zur',
  ),
  language(
    french,
    'à au aux avec ce ces cette dans de des du elle en est et été être il ils je la le les leur lui ma mais me mes moi mon ne nos notre nous on ont ou où par pas pour qu quand que quel quelle qui sa se ses son sont sur ta te tu un une vos votre vous',
  ),
  language(
    spanish,
    'al algo como con cual cuando cuándo de del desde donde dónde el ella ellos en era es esta está este esto fue ha hasta hay la las le les lo los mi muy más no nos o para pero por porque qué que quien quién se ser si sin sobre son su sus también tiene un una uno y ya yo',
  ),
  language(
    italian,
    'a ai al alla anche che chi ci come con cosa cui da dal dalla dei del della delle di dove e è ed era fra gli ha hanno ho i il in io la le lei lo loro ma mi mia mio nel nella non o per perché più quale quando questa questo se si sono su sua suo tra tu un una uno',
  ),
  language(
    portuguese,
    'a à ao aos as até com como da das de dela dele do dos e é ela ele eles em entre era essa esse esta está eu foi há isso já mais mas me meu minha muito na nas não no nos o onde os ou para pela pelo por qual quando que quem se sem ser seu são sua também tem um uma você',
  ),
  language(
    dutch,
    'aan als bij dat de deze die dit door een en er had heb heeft het hij hoe ik in is je kan maar me met mijn naar niet nog of om ook op over te tot uit van voor waar wanneer was wat we wel werd wie wij worden zal ze zich zij zijn zou',
  ),
]
const RUSSIAN = language(
  russian,
  'а без бы был была были было быть в вам вас весь во вот все вы где да для до его ее если есть же за и из или им их к как когда кто ли мне меня мы на не него нет но о об он она они от по под при с со так там то тот ты у уже что чтобы это этот я',
)

/** Stores of 0.2.0 contain words without stemming. */
const AS_WRITTEN = language((word) => word, '')

/** Runs of letters and digits, with the characters that join them to a name or a path. */
const NAME = /[\p{L}\p{N}\p{M}]+(?:[_\-./\\:@]{1,2}[\p{L}\p{N}\p{M}]+)*/gu
/** The same for ASCII text, and several times faster. */
const ASCII_NAME = /[A-Za-z0-9]+(?:[_\-./\\:@]{1,2}[A-Za-z0-9]+)*/g
const PART = /[\p{L}\p{N}\p{M}]+/gu
/** The border between two parts of a name: `readFile`, `HTTPServer`. */
const HUMP = /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u
const UNSPACED_RUN = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+/gu
const CYRILLIC = /\p{sc=Cyrillic}/u
/** Longer runs are data (base64, hashes) and are found by their first characters. */
const MAX_WORD = 40
const MAX_QUERY_WORDS = 32
/** The number of characters from which a text's language is determined. */
const DETECTION_CHARACTERS = 2_000

/** The words of a text for an index, in order. A name gives its parts and then itself. */
export const wordsOf = (text: string): string[] => readerOf(text)(text)

/** Splits parts of a text into words, in the language of the whole text. */
export function readerOf(text: string): (part: string) => string[] {
  const stem = stemsOf(detectLanguage(text).spoken)
  return (part) => {
    const found: string[] = []
    for (const name of part.match(isAscii(part) ? ASCII_NAME : NAME) ?? [])
      for (const word of stem(name)) found.push(word)
    return found
  }
}

/** A word to search for, in every form that an index may contain: the language of a short query is a guess. */
export type AskedWord = readonly string[]

/** The distinct words of a query. Frequent words are left out unless there are no others. */
export function queryWords(query: string): readonly AskedWord[] {
  const { spoken, isSure } = detectLanguage(query)
  const readers = [spoken, ...(isSure ? [] : LATIN.filter((each) => each !== spoken)), AS_WRITTEN]
  const named = query.match(NAME) ?? []
  const telling = named.filter((name) => !spoken.common.has(name.toLowerCase()))
  const forms = new Map<string, AskedWord>()
  for (const name of telling.length > 0 ? telling : named) {
    const all = readers.map((each) => stemsOf(each)(name))
    for (const [i, word] of all[0]!.entries()) {
      // For runs of two or more characters, their pairs are enough.
      if (UNSPACED.test(word) && all[0]!.length > 1 && Array.from(word).length === 1) continue
      forms.set(word, [...new Set(all.map((each) => each[i]!))])
    }
  }
  return [...forms.values()].slice(0, MAX_QUERY_WORDS)
}

/** The language whose frequent words occur most. Sure if there is at least one, and more than of any other language. */
function detectLanguage(text: string): { readonly spoken: Language; readonly isSure: boolean } {
  const words = text.slice(0, DETECTION_CHARACTERS).toLowerCase().match(PART) ?? []
  const counts = LATIN.map(({ common }) => words.filter((word) => common.has(word)).length)
  const most = Math.max(...counts)
  const at = counts.indexOf(most)
  return { spoken: LATIN[at]!, isSure: most > 0 && counts.lastIndexOf(most) === at }
}

const isAscii = (text: string): boolean => {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false
  return true
}

type Stems = (name: string) => readonly string[]

/** The number of names cached for each language. */
const MOST_KEPT = 50_000
const KEPT = new Map<Language, Stems>()

function stemsOf(spoken: Language): Stems {
  const made = KEPT.get(spoken)
  if (made !== undefined) return made
  const known = new Map<string, readonly string[]>()
  const stems: Stems = (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    if (known.size >= MOST_KEPT) known.clear()
    const found = wordsOfName(name, spoken)
    known.set(name, found)
    return found
  }
  KEPT.set(spoken, stems)
  return stems
}

function wordsOfName(name: string, { stem }: Language): readonly string[] {
  const stemmed = (word: string): string => {
    if (word.length > MAX_WORD)
      return Array.from(word.slice(0, 2 * MAX_WORD))
        .slice(0, MAX_WORD)
        .join('')
    return (CYRILLIC.test(word) ? RUSSIAN.stem(word) : stem(word)) || word
  }
  const runs = name.normalize('NFC').match(PART) ?? []
  const parts = runs.flatMap((run) => run.split(HUMP)).map((part) => part.toLowerCase())
  const words = parts.flatMap((part) => (UNSPACED.test(part) ? pieces(part, stemmed) : [stemmed(part)]))
  if (parts.length === 1) return words
  // A path is also found by its file name.
  const last = runs.length > 2 ? runs.slice(-2).join('').toLowerCase() : ''
  return [...words, stemmed(parts.join('')), ...(last === '' ? [] : [stemmed(last)])]
}

function pieces(run: string, stemmed: (word: string) => string): string[] {
  const out: string[] = []
  let end = 0
  for (const match of run.matchAll(UNSPACED_RUN)) {
    if (match.index > end) out.push(stemmed(run.slice(end, match.index)))
    end = match.index + match[0].length
    const characters = Array.from(match[0])
    out.push(...characters)
    for (let i = 1; i < characters.length; i++) out.push(`${characters[i - 1]}${characters[i]}`)
  }
  if (end < run.length) out.push(stemmed(run.slice(end)))
  return out
}

/** A word as a number, for an index in memory; two words share a number once in a thousand million. */
export function numberOf(word: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < word.length; i++) hash = Math.imul(hash ^ word.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
