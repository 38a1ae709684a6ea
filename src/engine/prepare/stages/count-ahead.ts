import type { Conversation } from '../../../core/conversation.ts'
import { LONG_TEXT, textPieces, type TargetRef } from '../../../meter/index.ts'
import type { Pause } from '../../../lib/yield-now.ts'
import type { EngineDeps } from '../../deps.ts'

/** Fewer new items than this are counted in a few milliseconds. */
const MANY_ITEMS = 2_000

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
  for (let at = known; at < items.length; at++) {
    const { text } = items[at]!
    if (text.length <= LONG_TEXT) continue
    for (const piece of textPieces(text)) {
      meter.countText(gauge, piece)
      await pause()
    }
  }
  for (let to = known + MANY_ITEMS; to < items.length; to += MANY_ITEMS) {
    meter.measure(gauge, { ...conversation, items: items.slice(0, to) }, 0)
    await pause()
  }
}
