import type { Item } from '../../../core/item.ts'
import { cutHead } from '../../intake/text.ts'
import type { CallReader } from './arguments.ts'
import { keepsPlan } from './plan-state.ts'

/** One entry of the account: something that the model said or called, or a user message by its number. */
interface Entry {
  readonly text: string
  readonly kind: 'said' | 'called' | 'user'
}

export interface SaidOptions {
  readonly countText: (text: string) => number
  readonly calls: CallReader
  /** Numbers of the user messages that are shown elsewhere. */
  readonly numbers: ReadonlyMap<Item, number>
  readonly outcomeOf: (call: Item) => string | undefined
  /** A line for what came back for an action that the model wrote as text; undefined for other items. */
  readonly answerLine: (item: Item) => string | undefined
  /** Tokens for all of it, at most for what the model said, and for its calls. */
  readonly tokens: number
  readonly proseTokens: number
  readonly callTokens: number
}

/** Of something that does not fit whole, its beginning. */
const HEAD_CHARACTERS = 160

/** What the model said, whole, the newest first in line for room, with one line for each of its calls; printed in order. */
export function whatWasSaid(items: readonly Item[], options: SaidOptions): string {
  const { countText, tokens, proseTokens, callTokens } = options
  const entries = entriesOf(items, options)
  const isCall = ({ kind }: Entry): boolean => kind === 'called'
  const calls = newestOf(entries, isCall, callTokens, countText)
  const prose = newestOf(entries, (entry) => !isCall(entry), Math.min(proseTokens, tokens - calls.used), countText)
  const shown = entries.map((_, i) => calls.texts.get(i) ?? prose.texts.get(i))
  const lines = shown.filter((text, i) => text !== undefined && !isBareMarker(entries, shown, i))
  if (lines.length === 0) return ''
  const left = shown.filter((text) => text === undefined).length
  const older = left === 0 ? '' : `, ${left} older entries left out`
  return `What the model said (·) and called (»), in order${older}:\n${lines.join('\n')}`
}

/** A line that is short enough for what is left may come after longer ones, but rarely after this many. */
const MOST_MISSES = 200

/** The newest of some entries that fit, by their place; of something said that does not fit whole, its beginning. */
function newestOf(
  entries: readonly Entry[],
  wanted: (entry: Entry) => boolean,
  tokens: number,
  countText: (text: string) => number,
): { readonly texts: ReadonlyMap<number, string>; readonly used: number } {
  const texts = new Map<number, string>()
  let used = 0
  let misses = 0
  // Of a long history most need not be counted: where so many in a row had no room, none will.
  for (let i = entries.length - 1; i >= 0 && used + 1 < tokens && misses < MOST_MISSES; i--) {
    const { text, kind } = entries[i]!
    if (!wanted(entries[i]!)) continue
    const head = kind === 'said' ? `${cutHead(text, HEAD_CHARACTERS)} […]` : text
    misses++
    for (const form of head.length < text.length ? [text, head] : [text]) {
      const cost = countText(form) + 1
      if (used + cost > tokens) continue
      texts.set(i, form)
      used += cost
      misses = 0
      break
    }
  }
  return { texts, used }
}

function entriesOf(items: readonly Item[], { calls, numbers, outcomeOf, answerLine }: SaidOptions): Entry[] {
  const entries: Entry[] = []
  for (const item of items) {
    const text = item.text.trim()
    const number = numbers.get(item)
    const answer = number === undefined ? answerLine(item) : undefined
    if (answer !== undefined) entries.push({ text: answer, kind: 'called' })
    else if (number !== undefined) entries.push({ text: `[user message ${number}: ${quoteOf(text)}]`, kind: 'user' })
    else if (item.kind === 'assistant' && text !== '') entries.push({ text: `· ${text}`, kind: 'said' })
    else if (item.kind === 'call' && !keepsPlan(item, calls)) {
      const outcome = outcomeOf(item)
      entries.push({ text: `» ${calls.callLine(item)}${outcome === undefined ? '' : ` → ${outcome}`}`, kind: 'called' })
    }
  }
  return entries
}

/** A user message that nothing is shown after needs no place in the account. */
function isBareMarker(entries: readonly Entry[], shown: readonly (string | undefined)[], index: number): boolean {
  if (entries[index]!.kind !== 'user') return false
  for (let i = index + 1; i < entries.length && entries[i]!.kind !== 'user'; i++)
    if (shown[i] !== undefined) return false
  return true
}

const QUOTE_CHARACTERS = 40

function quoteOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= QUOTE_CHARACTERS ? line : `${cutHead(line, QUOTE_CHARACTERS)}…`
}
