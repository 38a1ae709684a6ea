import { visitIdentifiers, type IdentifierKind } from '../../../core/quotes.ts'
import type { Item } from '../../../core/item.ts'
import type { SummaryAnswer } from '../../../ports/summarizer.ts'

/** Longer answers than this that begin like a refusal have more to say than that. */
const REFUSAL_CHARACTERS = 400
const REFUSAL =
  /^\W*(?:i(?:\s+am|['’]m)\s+(?:sorry|unable|not\s+able)|(?:i\s+)?(?:apologi[sz]e|sorry)|i\s+(?:cannot|can\s?not|can['’]t|won['’]t|will\s+not|must\s+decline)|as\s+an?\s+(?:ai|language\s+model))\b/i

export interface Standard {
  /** The answer in its place: with its frame and what code carries. */
  readonly text: string
  /** What must stand in it word for word. */
  readonly carried: readonly string[]
  /** As long as what it stands for. */
  readonly isTooLong: boolean
}

/** Why an answer is no summary; undefined when it is one. */
export function faultOf(
  { text, stop, toolCalls = 0 }: SummaryAnswer,
  { text: placed, carried, isTooLong }: Standard,
): string | undefined {
  const said = text.trim()
  if (toolCalls > 0) return 'it calls tools'
  if (stop === 'refusal' || (said.length <= REFUSAL_CHARACTERS && REFUSAL.test(said))) return 'the model refused'
  if (said === '') return 'it is empty'
  if (stop !== 'end') return `it stopped for ${stop}`
  if (carried.some((fact) => !placed.includes(fact))) return 'it lost facts that code carries'
  return isTooLong ? 'it is as long as what it stands for' : undefined
}

/** Names that a model may get wrong before its account counts as invented. */
const INVENTED_LEAST = 3
const INVENTED_SHARE = 0.34
/** An account with so few terms says too little for a share of them to mean much. */
const FEW_TERMS = 12
/**
 * Of an account's terms, this share was spoken of before. Fourteen summaries that Claude Code wrote of recorded sessions have 0.77 to 0.93 of them
 * even without their names; of encyclopaedia paragraphs in the same language, 95 of 100 stay below 0.57, since any two texts share common words.
 */
const SHARE_OF_FEW = 0.34
const SHARE_OF_MANY = 0.6
/** Names of the conversation that show what a longer account is about: a single one, such as a product's, stands in many texts. */
const NAMES_OF_MANY = 2
/** A history that uses fewer names than this has none to remind of. */
const NAMES_LEAST = 5
const QUOTED = 8

/** What is wrong with a model's account of a history: it speaks of something else, or of things that never occurred. */
export function accountFault(account: string, items: readonly Item[]): string | undefined {
  const known = knownNames(items)
  const used = namesIn(account)
  const claims = [...used].filter(([name, kind]) => isClaim(name, kind)).map(([name]) => name)
  const words = termsOf(items.map(({ text }) => text))
  const invented = claims.filter((name) => !known.has(name) && !isMadeOf(name, words))
  if (invented.length >= INVENTED_LEAST && invented.length > INVENTED_SHARE * claims.length)
    return `it names what does not occur in the conversation: ${invented.slice(0, QUOTED).join(', ')}`
  const named = [...used].filter(([name, kind]) => (kind === 'symbol' || isClaim(name, kind)) && known.has(name)).length
  const said = [...termsOf([account])]
  if (named >= (said.length <= FEW_TERMS ? 1 : NAMES_OF_MANY)) return undefined
  const own = items.filter(({ kind }) => kind !== 'result' && kind !== 'opaque')
  const spoken = termsOf(own.map(({ text, toolName = '' }) => `${toolName} ${text}`))
  const shared = said.filter((term) => spoken.has(term)).length
  if (shared > 0 && shared >= (said.length <= FEW_TERMS ? SHARE_OF_FEW : SHARE_OF_MANY) * said.length) return undefined
  return known.newest.length >= NAMES_LEAST
    ? `it names nothing of what happened, such as ${known.newest.slice(-QUOTED).join(', ')}`
    : 'it speaks of something else'
}

function knownNames(items: readonly Item[]): { has(name: string): boolean; readonly newest: readonly string[] } {
  const names = new Set<string>()
  for (const { text } of items) visitIdentifiers(text, (name) => names.add(name))
  const endings = new Set([...names].flatMap(endingsOf))
  return {
    /** `src/a.ts` for `/repo/src/a.ts`: an account may shorten what it names, or say where it is. */
    has: (name) => endings.has(name) || endingsOf(name).some((ending) => names.has(ending)),
    /** In order of their first appearance. */
    newest: [...names],
  }
}

/** A name and what is left of it without its first folders. */
const endingsOf = (name: string): string[] => {
  const parts = name.split('/')
  return parts.slice(0, MOST_PARTS).map((_, from) => parts.slice(from).join('/'))
}

/** Names come from outside, and may be of any length. */
const MOST_PARTS = 32

function namesIn(text: string): Map<string, IdentifierKind> {
  const names = new Map<string, IdentifierKind>()
  visitIdentifiers(text, (name, kind) => names.set(name, kind))
  return names
}

/**
 * Whether a name can only come from the conversation. Sums and dates, headings in capitals, `GitHub`, `end-to-end` and `read/write/run` look like
 * names and are a writer's own words.
 */
function isClaim(name: string, kind: IdentifierKind): boolean {
  if (kind === 'number') return false
  if (kind === 'code') return /\d/.test(name)
  if (kind === 'path') return name.startsWith('/') || name.includes('.')
  return kind === 'hash' || /[_$.]|::|\d/.test(name) || /^[a-z]+[A-Z]/.test(name)
}

/** A next step names what is to be made: of words that were spoken of (`setCookie`, `src/auth/cookie.ts`), it is no invention. */
function isMadeOf(name: string, words: ReadonlySet<string>): boolean {
  const parts = [...termsOf([name])]
  return parts.length > 0 && parts.every((part) => words.has(part))
}

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
function termsOf(texts: readonly string[]): Set<string> {
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
