import type { Conversation } from '../../../core/conversation.ts'
import { LONG_TEXT, textPieces, type TargetRef } from '../../../meter/index.ts'
import type { Pause } from '../../../util/yield-now.ts'
import type { EngineDeps } from '../../deps.ts'

/** Characters that are counted in a few milliseconds, and what a further item costs beside its text. */
const SLICE_CHARACTERS = 256 * 1024
const ITEM_CHARACTERS = 128

/** Whether what is new about a request takes more than one part. */
export function isLong({ items }: Conversation, known: number): boolean {
  let characters = 0
  for (let at = known; at < items.length && characters <= SLICE_CHARACTERS; at++) {
    const { length } = items[at]!.text
    if (length > LONG_TEXT) return true
    characters += ITEM_CHARACTERS + length
  }
  return characters > SLICE_CHARACTERS
}

/**
 * Counts what is large about a request before anything asks for its load, a part at a time: the meter remembers each part, so the question is
 * answered at once. Changes nothing but who has to wait.
 */
export async function countAhead(
  { meter }: Pick<EngineDeps, 'meter'>,
  gauge: TargetRef,
  conversation: Conversation,
  known: number,
  pause: Pause,
): Promise<void> {
  const { items } = conversation
  let waiting = 0
  for (let at = known; at < items.length; at++) {
    const { text } = items[at]!
    waiting += ITEM_CHARACTERS + Math.min(text.length, LONG_TEXT)
    if (waiting > SLICE_CHARACTERS) {
      meter.measure(gauge, { ...conversation, items: items.slice(0, at) }, 0)
      await pause()
      waiting = 0
    }
    if (text.length <= LONG_TEXT) continue
    for (const piece of textPieces(text)) {
      meter.countText(gauge, piece)
      await pause()
    }
  }
}
