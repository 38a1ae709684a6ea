import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { headTail } from '../../intake/text.ts'
import { levelWithin, type Draft, type StoredText } from '../cascade/draft.ts'
import { mediaLines } from '../cascade/shed-media.ts'
import { messagesOf } from '../thresholds.ts'
import { changedSince, spokenIn } from './said.ts'

export interface UserMessages {
  readonly text: string
  readonly stored: ReadonlyMap<Handle, StoredText>
  /** The number under which each message stands. */
  readonly numbers: ReadonlyMap<Item, number>
  /** Where not all of it has room: what is shown of each answer. */
  readonly answers?: ReadonlyMap<Item, string>
}

/** A message that is cut keeps at least this much of itself beside the note that says where it is; less would not tell what it was about. */
const LEAST_WORDS_TOKENS = 60
/** Notes about single messages may take this share; more of them would cost more than one note about all. */
const MOST_NOTES = 0.1
/** In talk, heads and tails are for the few messages that are much longer than the others. */
const MOST_CUT = 0.25
/** Where not all have room, one paragraph may take this share. */
const MOST_OF_ONE = 0.125
/** These newest ones come before any that say more. */
const NEWEST = 3
/** The number of a message and the end of its line. */
const LEAST_LINE_TOKENS = 4
/** The same of an answer, with the line that says what it answers. */
const ANSWER_LINE_TOKENS = 10

interface Entry {
  readonly words: string
  /** A line for each picture: never cut, since its handle is the only way to it. */
  readonly lines: readonly string[]
  again: number
}

/**
 * Everything that people said, in order and word for word. Where it is too much, the longest messages are shown as head + tail with a handle;
 * where even that is too much, their paragraphs that say most for their length, with one handle for the rest. None leaves without a trace, and a
 * message that was sent again is shown once. Paragraphs of `answers` get what is left of the room, or compete for it where they are as short.
 */
export function userMessages(
  draft: Draft,
  items: readonly Item[],
  budget: number,
  answers: readonly Item[] = [],
): UserMessages {
  const numbers = new Map<Item, number>()
  const entries: Entry[] = []
  const known = new Map<string, number>()
  const stored = new Map<Handle, StoredText>()
  for (const parts of messagesOf(items)) {
    const entry: Entry = {
      words: parts
        .map((part) => spokenIn(part.text).words)
        .filter((words) => words !== '')
        .join('\n'),
      lines: parts.flatMap((part) => mediaLines(draft, part, stored)),
      again: 0,
    }
    const text = wholeOf(entry)
    if (text === '') continue
    const before = known.get(text)
    if (before === undefined) known.set(text, entries.push(entry))
    else entries[before - 1]!.again++
    numbers.set(parts[0]!, known.get(text)!)
  }
  if (entries.length === 0) return { text: '', stored, numbers }
  const changed = changedSince(entries.map(({ words }) => words))
  const sizes = entries.map((entry) => draft.countText(wholeOf(entry)) + LEAST_LINE_TOKENS)
  const note = draft.countText(noteOf(draft, wholeOf(entries[0]!)))
  const level = levelWithin(sizes, budget)
  const cut = sizes.filter((size) => size > level).length
  const areFew = answers.length === 0 || cut <= Math.max(NEWEST, MOST_CUT * entries.length)
  const isCutEnough = level >= note + LEAST_WORDS_TOKENS && cut * note <= MOST_NOTES * budget && areFew
  // Explanations can be given again; short answers are the other half of what was said.
  const areAlike = isAlike(answers, items)
  const both = isCutEnough
    ? entries.map((entry, i) => (sizes[i]! > level ? shortened(draft, entry, level) : wholeOf(entry)))
    : tellingParts(draft, entries, areAlike ? answers : [], budget)
  const shown = both.slice(0, entries.length)
  const lines = shown.flatMap((text, i) => {
    const { again } = entries[i]!
    const note = changed.has(i) ? `\n[${changed.get(i)}]` : ''
    return text === '' ? [] : [`${i + 1}. ${text}${again > 0 ? ` (sent ${again + 1} times)` : ''}${note}`]
  })
  const others = entries.map(wholeOf).filter((whole, i) => shown[i] !== whole)
  if (isCutEnough) for (const text of others) stored.set(draft.handleOf(text), { text })
  else if (others.length > 0) {
    const text = others.join('\n\n')
    stored.set(draft.handleOf(text), { text })
    lines.push(othersNote(draft, text))
  }
  const text = `What the user said, in order:\n${lines.join('\n')}`
  if (answers.length === 0) return { text, stored, numbers }
  const told =
    isCutEnough || !areAlike
      ? tellingParts(draft, [], answers, budget - draft.countText(text))
      : both.slice(entries.length)
  return { text, stored, numbers, answers: new Map(answers.map((item, i) => [item, told[i]!])) }
}

const wholeOf = ({ words, lines }: Entry): string => [words, ...lines].filter((part) => part !== '').join('\n')

/** A paragraph of a message; the lines of its pictures go with the first that is shown. */
interface Part {
  readonly entry: number
  readonly text: string
  readonly tokens: number
}

/**
 * Of messages that have no room together, the paragraphs that say most for their length, in order under the numbers of their messages: the
 * newest messages first of all. Each text is empty where nothing of its message is shown.
 */
function tellingParts(
  draft: Draft,
  people: readonly Entry[],
  answers: readonly Item[],
  budget: number,
): readonly string[] {
  const entries = [...people, ...answers.map(({ text }): Entry => ({ words: text.trim(), lines: [], again: 0 }))]
  const most = Math.floor(budget * MOST_OF_ONE)
  const parts = entries.flatMap(({ words }, entry): Part[] =>
    words.split(PARAGRAPH).map((text) => {
      const tokens = draft.countText(text)
      if (tokens <= most) return { entry, text, tokens: tokens + 1 }
      const head = headTail(text, { maxTokens: most, countTokens: draft.countText, maxBytes: 1_000_000 }).text
      return { entry, text: head, tokens: most + 1 }
    }),
  )
  const worths = worthsOf(parts.map(({ text }) => text))
  const isNewest = ({ entry }: Part): boolean => entry < people.length && entry >= people.length - NEWEST
  const worth = (i: number): number => (isNewest(parts[i]!) ? Infinity : worths[i]! / parts[i]!.tokens)
  const order = parts.map((_, i) => i).sort((a, b) => worth(b) - worth(a) || b - a)
  const chosen = new Set<number>()
  const begun = new Set<number>()
  let left = budget - draft.countText(othersNote(draft, ''))
  for (const i of order) {
    const { entry, tokens } = parts[i]!
    const line = entry < people.length ? LEAST_LINE_TOKENS : ANSWER_LINE_TOKENS
    const first = begun.has(entry) ? 0 : line + draft.countText(entries[entry]!.lines.join('\n'))
    if (tokens + first > left) continue
    left -= tokens + first
    chosen.add(i)
    begun.add(entry)
  }
  const texts = entries.map((): string[] => [])
  for (const [i, { entry, text }] of parts.entries()) {
    const shown = texts[entry]!
    if (chosen.has(i)) shown.push(text)
    else if (shown.at(-1) !== GAP) shown.push(GAP)
  }
  return texts.map((shown, entry) =>
    begun.has(entry) ? wholeOf({ ...entries[entry]!, words: shown.join(shown.includes(GAP) ? '\n' : '\n\n') }) : '',
  )
}

/** Answers this much longer than what people say explain. */
const ALIKE = 1.5

/** Whether the paragraphs of some items are about as short as those of others, or shorter. */
function isAlike(answers: readonly Item[], people: readonly Item[]): boolean {
  const usual = (items: readonly Item[]): number => {
    const paragraphs = items.flatMap(({ text }) => text.trim().split(PARAGRAPH))
    return paragraphs.reduce((sum, { length }) => sum + length, 0) / paragraphs.length
  }
  return answers.length > 0 && people.length > 0 && usual(answers) <= ALIKE * usual(people)
}

const PARAGRAPH = /\n[ \t]*\n/
const GAP = '[…]'

// A handle is of no use to a model without tools. Where there are tools, the client's own may open it.
const othersNote = (draft: Draft, text: string): string =>
  draft.hasTools
    ? `[Messages whose numbers are missing, and parts marked ${GAP}, are stored whole as ${draft.handleOf(text)}]`
    : `[Messages whose numbers are missing, and parts marked ${GAP}, are no longer in view]`

const noteOf = (draft: Draft, text: string): string =>
  draft.hasTools ? `[shortened; the whole message is stored as ${draft.handleOf(text)}]` : '[shortened]'

function shortened(draft: Draft, entry: Entry, tokens: number): string {
  const rest = [noteOf(draft, wholeOf(entry)), ...entry.lines].join('\n')
  const room = Math.max(8, Math.floor(tokens) - draft.countText(rest))
  return `${headTail(entry.words, { maxTokens: room, countTokens: draft.countText, maxBytes: 1_000_000 }).text}\n${rest}`
}

const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}'’]*/gu
/** A word in more than about one of this many texts (e²) says nothing about one of them. */
const COMMON = 2
/** More words than this are data, and no text becomes worth more by being longer. */
const MOST_WORDS = 400

/**
 * How much each of some texts says that few others say: the words in it, each by how rare it is among them. Beside its length this tells
 * "The first sprint ends on March 29" from "Thanks, that sounds great!".
 */
function worthsOf(texts: readonly string[]): readonly number[] {
  const words = texts.map((text) => new Set((text.toLowerCase().match(WORD) ?? []).slice(0, MOST_WORDS)))
  const counts = new Map<string, number>()
  for (const set of words) for (const word of set) counts.set(word, (counts.get(word) ?? 0) + 1)
  return words.map((set) =>
    [...set].reduce((sum, word) => sum + Math.max(0, Math.log(1 + texts.length / counts.get(word)!) - COMMON), 0),
  )
}
