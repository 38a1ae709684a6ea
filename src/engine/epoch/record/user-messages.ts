import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { headTail, cutHead } from '../../intake/text.ts'
import { levelWithin, type Draft, type StoredText } from '../cascade/draft.ts'
import { mediaLines } from '../cascade/shed-media.ts'
import { messagesOf } from '../thresholds.ts'

export interface UserMessages {
  readonly text: string
  readonly stored: ReadonlyMap<Handle, StoredText>
  /** The number under which each message stands. */
  readonly numbers: ReadonlyMap<Item, number>
}

/** A message that is cut keeps at least this much of itself beside the note that says where it is; less would not tell what it was about. */
const LEAST_WORDS_TOKENS = 60
/** Where there is no room for that, this many characters of the first line say which message it was. */
const BRIEF_CHARS = 60
/** The number of a message and the end of its line. */
const LEAST_LINE_TOKENS = 4

interface Entry {
  readonly words: string
  /** A line for each picture: never cut, since its handle is the only way to it. */
  readonly lines: readonly string[]
  again: number
}

/**
 * Everything that people said, in order and word for word. Where it is too much, the longest messages are shown as head + tail with a handle;
 * where even that is too much, the oldest as their first words, with one handle for all of them. None leaves without a trace, and a message
 * that was sent again is shown once.
 */
export function userMessages(draft: Draft, items: readonly Item[], budget: number): UserMessages {
  const numbers = new Map<Item, number>()
  const entries: Entry[] = []
  const known = new Map<string, number>()
  const stored = new Map<Handle, StoredText>()
  for (const parts of messagesOf(items)) {
    const entry: Entry = {
      words: parts
        .map((part) => part.text.trim())
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
  const sizes = entries.map((entry) => draft.countText(wholeOf(entry)) + LEAST_LINE_TOKENS)
  const { from, level } = placesWithin(draft, entries, sizes, budget)
  const taken = sizes.slice(from).reduce((sum, size) => sum + Math.min(size, level), 0)
  const lines = from > 0 ? olderOnes(draft, entries.slice(0, from), budget - taken, stored) : []
  for (const [i, entry] of entries.entries()) {
    if (i < from) continue
    const whole = wholeOf(entry)
    if (sizes[i]! > level) stored.set(draft.handleOf(whole), { text: whole })
    const text = sizes[i]! > level ? shortened(draft, entry, level) : whole
    lines.push(`${i + 1}. ${text}${entry.again > 0 ? ` (sent ${entry.again + 1} times)` : ''}`)
  }
  return { text: `What the user said, in order:\n${lines.join('\n')}`, stored, numbers }
}

const wholeOf = ({ words, lines }: Entry): string => [words, ...lines].filter((part) => part !== '').join('\n')

/**
 * Where those that have a place of their own begin, and what each of these may take: all of them, each as long as it may be; where that would be a
 * few words of each, as many of the newest as leave the others a line.
 */
function placesWithin(
  draft: Draft,
  entries: readonly Entry[],
  sizes: readonly number[],
  budget: number,
): { readonly from: number; readonly level: number } {
  const least = draft.countText(noteOf(draft, wholeOf(entries[0]!))) + LEAST_WORDS_TOKENS
  const level = levelWithin(sizes, budget)
  if (level >= least) return { from: 0, level }
  const note = draft.countText(olderNote(draft, entries.length, ''))
  const brief = entries.reduce((sum, entry, i) => sum + draft.countText(briefLine(entry, i)) + 1, 0)
  // First words of very many would leave the newest nothing.
  const room = budget - note - Math.min(brief, budget / 2)
  let from = entries.length
  for (let used = 0; from > 0; from--) {
    used += Math.min(sizes[from - 1]!, least)
    if (used > room) break
  }
  return { from, level: Math.max(least, levelWithin(sizes.slice(from), room)) }
}

/** The oldest, by their first words; those that have no room even for that are in the handle only. */
function olderOnes(draft: Draft, entries: readonly Entry[], budget: number, stored: Map<Handle, StoredText>): string[] {
  const text = entries.map((entry, i) => `${i + 1}. ${wholeOf(entry)}`).join('\n\n')
  const note = olderNote(draft, entries.length, text)
  stored.set(draft.handleOf(text), { text })
  let room = budget - draft.countText(note)
  const brief = entries.map(briefLine)
  const first = brief.findLastIndex((line) => (room -= draft.countText(line) + 1) < 0) + 1
  return [...brief.slice(first), note]
}

function briefLine(entry: Entry, index: number): string {
  const whole = wholeOf(entry)
  const [first = ''] = whole.split('\n', 1)
  const shown = cutHead(first, BRIEF_CHARS)
  return `${index + 1}. ${shown}${shown.length < whole.length ? ' …' : ''}`
}

const olderNote = (draft: Draft, count: number, text: string): string =>
  count === 1
    ? `[message 1 is cut; it is stored whole as ${draft.handleOf(text)}]`
    : `[messages 1–${count} are cut; they are stored whole as ${draft.handleOf(text)}]`

const noteOf = (draft: Draft, text: string): string =>
  `[shortened; the whole message is stored as ${draft.handleOf(text)}]`

function shortened(draft: Draft, entry: Entry, tokens: number): string {
  const rest = [noteOf(draft, wholeOf(entry)), ...entry.lines].join('\n')
  const room = Math.max(8, Math.floor(tokens) - draft.countText(rest))
  return `${headTail(entry.words, { maxTokens: room, countTokens: draft.countText, maxBytes: 1_000_000 }).text}\n${rest}`
}
