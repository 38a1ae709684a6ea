import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { headTail } from '../../intake/head-tail.ts'
import type { Draft, StoredText } from '../cascade/draft.ts'
import { mediaLines } from '../cascade/shed-media.ts'
import { levelWithin } from './level.ts'

export interface UserMessages {
  readonly text: string
  readonly stored: ReadonlyMap<Handle, StoredText>
  /** The number under which each message stands. */
  readonly numbers: ReadonlyMap<Item, number>
}

/** A message that is shown shorter keeps at least this much of itself beside the note that says where it is. */
const LEAST_WORDS_TOKENS = 16

interface Entry {
  readonly text: string
  again: number
}

/**
 * Everything that people said, in order and word for word. Where it is too much, the longest messages are shown as head + tail with a handle;
 * where even that is too much, the oldest stand together behind one handle. None leaves without a trace, and a message that was sent again is
 * shown once.
 */
export function userMessages(draft: Draft, items: readonly Item[], budget: number): UserMessages {
  const numbers = new Map<Item, number>()
  const entries: Entry[] = []
  const known = new Map<string, number>()
  const stored = new Map<Handle, StoredText>()
  for (const parts of messagesIn(items)) {
    const item = parts[0]!
    const texts = parts.flatMap((part) => {
      const { lines, files } = mediaLines(draft, part)
      for (const { handle, stored: file } of files) stored.set(handle, file)
      return [part.text.trim(), ...lines]
    })
    const text = texts.filter((part) => part !== '').join('\n')
    if (text === '') continue
    const before = known.get(text)
    if (before === undefined) known.set(text, entries.push({ text, again: 0 }))
    else entries[before - 1]!.again++
    numbers.set(item, known.get(text)!)
  }
  if (entries.length === 0) return { text: '', stored, numbers }
  const sizes = entries.map(({ text }) => draft.countText(text) + 4)
  const { from, level, together } = placesWithin(draft, entries, sizes, budget)
  const lines = together === undefined ? [] : [together.line]
  if (together !== undefined) stored.set(draft.handleOf(together.text), { text: together.text })
  for (const [i, { text, again }] of entries.entries()) {
    if (i < from) continue
    const whole = sizes[i]! <= level
    const part = whole ? text : shortened(draft, text, level)
    if (!whole) stored.set(draft.handleOf(text), { text })
    lines.push(`${i + 1}. ${part}${again > 0 ? ` (sent ${again + 1} times)` : ''}`)
  }
  return { text: `What the user said, in order:\n${lines.join('\n')}`, stored, numbers }
}

interface Places {
  /** The first entry with a place of its own. */
  readonly from: number
  /** What such an entry may take. */
  readonly level: number
  /** The older ones. */
  readonly together?: { readonly line: string; readonly text: string }
}

/** All of them, each as long as it may be; where not even their beginnings fit, as many of the newest as do. */
function placesWithin(draft: Draft, entries: readonly Entry[], sizes: readonly number[], budget: number): Places {
  const least = draft.countText(noteOf(draft, entries[0]!.text)) + LEAST_WORDS_TOKENS
  const level = levelWithin(sizes, budget)
  if (level >= least) return { from: 0, level }
  const room = budget - draft.countText(olderLine(draft, entries.length, ''))
  let from = entries.length
  for (let used = 0; from > 0; from--) {
    used += Math.min(sizes[from - 1]!, least)
    if (used > room) break
  }
  const text = entries
    .slice(0, from)
    .map((entry, i) => `${i + 1}. ${entry.text}`)
    .join('\n\n')
  return {
    from,
    level: Math.max(least, levelWithin(sizes.slice(from), room)),
    ...(from > 0 && { together: { text, line: olderLine(draft, from, text) } }),
  }
}

const olderLine = (draft: Draft, count: number, text: string): string =>
  `${count === 1 ? '1. [the oldest message is' : `1–${count}. [the oldest ${count} messages are`} stored as ${draft.handleOf(text)}]`

const noteOf = (draft: Draft, text: string): string =>
  `[shortened; the whole message is stored as ${draft.handleOf(text)}]`

function shortened(draft: Draft, text: string, tokens: number): string {
  const note = noteOf(draft, text)
  const room = Math.max(8, Math.floor(tokens) - draft.countText(note))
  return `${headTail(text, { maxTokens: room, countTokens: draft.countText, maxBytes: 1_000_000 }).text}\n${note}`
}

/** Items of one message belong together: a picture and the words beside it. */
function messagesIn(items: readonly Item[]): Item[][] {
  const messages: Item[][] = []
  for (const item of items) {
    const before = messages.at(-1)?.at(-1)
    if (before !== undefined && item.message >= 0 && before.message === item.message) messages.at(-1)!.push(item)
    else messages.push([item])
  }
  return messages
}
