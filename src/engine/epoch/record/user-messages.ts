import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { headTail } from '../../intake/text.ts'
import { levelWithin, type Draft, type StoredText } from '../cascade/draft.ts'
import { mediaLines } from '../cascade/shed-media.ts'
import { messagesOf } from '../thresholds.ts'
import { worthsOf } from './worth.ts'

export interface UserMessages {
  readonly text: string
  readonly stored: ReadonlyMap<Handle, StoredText>
  /** The number under which each message stands. */
  readonly numbers: ReadonlyMap<Item, number>
}

/** A message that is cut keeps at least this much of itself beside the note that says where it is; less would not tell what it was about. */
const LEAST_WORDS_TOKENS = 60
/** Where not all have room, these newest ones stay before any that say more. */
const NEWEST = 3
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
 * where even that is too much, those that say most for their length, with one handle for the others. None leaves without a trace, and a
 * message that was sent again is shown once.
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
  const least = draft.countText(noteOf(draft, wholeOf(entries[0]!))) + LEAST_WORDS_TOKENS
  const common = levelWithin(sizes, budget)
  const isEnough = common >= least
  const level = isEnough ? common : Math.max(least, budget * MOST_OF_ONE)
  const shown = isEnough ? undefined : tellingOnes(draft, entries, sizes, level, budget)
  const lines: string[] = []
  for (const [i, entry] of entries.entries()) {
    if (shown?.has(i) === false) continue
    const whole = wholeOf(entry)
    if (sizes[i]! > level) stored.set(draft.handleOf(whole), { text: whole })
    const text = sizes[i]! > level ? shortened(draft, entry, level) : whole
    lines.push(`${i + 1}. ${text}${entry.again > 0 ? ` (sent ${entry.again + 1} times)` : ''}`)
  }
  if (shown !== undefined) {
    const others = entries.flatMap((entry, i) => (shown.has(i) ? [] : [`${i + 1}. ${wholeOf(entry)}`])).join('\n\n')
    stored.set(draft.handleOf(others), { text: others })
    lines.push(othersNote(draft, entries.length - shown.size, others))
  }
  return { text: `What the user said, in order:\n${lines.join('\n')}`, stored, numbers }
}

const wholeOf = ({ words, lines }: Entry): string => [words, ...lines].filter((part) => part !== '').join('\n')

/** Where not all messages have room, one of them may take this share of it. */
const MOST_OF_ONE = 0.125

/** Messages that have a place of their own where there is none for all: the newest, then those that say most for their length. */
function tellingOnes(
  draft: Draft,
  entries: readonly Entry[],
  sizes: readonly number[],
  level: number,
  budget: number,
): ReadonlySet<number> {
  const worths = worthsOf(entries.map(({ words }) => words))
  const worth = (i: number): number => (i >= entries.length - NEWEST ? Infinity : worths[i]! / sizes[i]!)
  const order = entries.map((_, i) => i).sort((a, b) => worth(b) - worth(a) || b - a)
  const shown = new Set<number>()
  let left = budget - draft.countText(othersNote(draft, entries.length, ''))
  for (const i of order) {
    const size = Math.min(sizes[i]!, level)
    if (size > left) continue
    left -= size
    shown.add(i)
  }
  return shown
}

const othersNote = (draft: Draft, count: number, text: string): string =>
  `[${count} ${count === 1 ? 'message whose number is missing is' : 'messages whose numbers are missing are'} stored whole as ${draft.handleOf(text)}]`

const noteOf = (draft: Draft, text: string): string =>
  `[shortened; the whole message is stored as ${draft.handleOf(text)}]`

function shortened(draft: Draft, entry: Entry, tokens: number): string {
  const rest = [noteOf(draft, wholeOf(entry)), ...entry.lines].join('\n')
  const room = Math.max(8, Math.floor(tokens) - draft.countText(rest))
  return `${headTail(entry.words, { maxTokens: room, countTokens: draft.countText, maxBytes: 1_000_000 }).text}\n${rest}`
}
