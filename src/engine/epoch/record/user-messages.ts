import type { Handle } from '../../../core/handles.ts'
import type { Item } from '../../../core/item.ts'
import { headTail } from '../../intake/head-tail.ts'
import type { Draft, StoredText } from '../cascade/draft.ts'
import { mediaLines } from '../cascade/steps/shed-media.ts'
import { levelWithin } from './level.ts'

export interface UserMessages {
  readonly text: string
  readonly stored: ReadonlyMap<Handle, StoredText>
  /** The number under which each message stands. */
  readonly numbers: ReadonlyMap<Item, number>
}

/** Each message keeps at least this much of itself, whatever the budget. */
const LEAST_TOKENS = 24

/**
 * Everything that people said, in order and word for word. Where it is too much, the longest messages are shown as head + tail with a handle;
 * none leaves without a trace, and a message that was sent again is shown once.
 */
export function userMessages(draft: Draft, items: readonly Item[], budget: number): UserMessages {
  const numbers = new Map<Item, number>()
  const entries: { readonly text: string; readonly number: number; again: number }[] = []
  const known = new Map<string, (typeof entries)[number]>()
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
    const entry = before ?? { text, number: entries.length + 1, again: 0 }
    if (before === undefined) {
      known.set(text, entry)
      entries.push(entry)
    } else before.again++
    numbers.set(item, entry.number)
  }
  if (entries.length === 0) return { text: '', stored, numbers }
  const sizes = entries.map(({ text }) => draft.countText(text) + 4)
  const level = Math.max(LEAST_TOKENS, levelWithin(sizes, budget))
  const shown = entries.map(({ text, number, again }, i) => {
    const whole = sizes[i]! <= level
    const part = whole ? text : shortened(draft, text, level)
    if (!whole) stored.set(draft.handleOf(text), { text })
    return `${number}. ${part}${again > 0 ? ` (sent ${again + 1} times)` : ''}`
  })
  return { text: `What the user said, in order:\n${shown.join('\n')}`, stored, numbers }
}

function shortened(draft: Draft, text: string, tokens: number): string {
  const note = `[shortened; the whole message is stored as ${draft.handleOf(text)}]`
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
