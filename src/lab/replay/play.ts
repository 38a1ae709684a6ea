import { isPlimsollError } from '../../core/errors.ts'
import type { PriceModel } from '../../core/price.ts'
import { codecs } from '../../formats/registry.ts'
import type { Plimsoll } from '../../plimsoll.ts'
import type { Recording } from '../transcripts/recording.ts'
import { conversationView, SessionPricer } from './price.ts'

export interface PlayOptions {
  readonly id: string
  readonly model: string
  readonly window: number
  readonly price: PriceModel
  readonly countText: (text: string) => number
  /** Called with the recorded time of each call, which becomes the time of its log entries. */
  readonly setClock: (at: number) => void
}

/**
 * Re-runs a recorded session call by call, so that the store contains it as if its requests had gone through a proxy. Usage is computed by the
 * provider's cache rules.
 */
export async function playRecording(plimsoll: Plimsoll, recording: Recording, options: PlayOptions): Promise<void> {
  const { id, model, window, price, countText } = options
  const codec = codecs.get(recording.wire)!
  const session = plimsoll.session({ id })
  const pricer = new SessionPricer(price)
  const tokensOf = new WeakMap<object, number>()
  for (const call of recording.calls) {
    if (call.at !== undefined) options.setClock(call.at)
    try {
      const turn = await session.prepare({ format: codec.format, body: call.body(), targets: [{ model, window }] })
      const view = conversationView(
        codec.decode(turn.text),
        (item) => {
          const known = tokensOf.get(item) ?? countText(item.text)
          tokensOf.set(item, known)
          return known
        },
        countText,
      )
      // The meter counts the whole request, because it knows which parts a vendor does not count.
      const all = view.pieces.reduce((sum, piece) => sum + piece.tokens, 0)
      const scale = all === 0 ? 0 : turn.load.count.tokens / all
      const pieces = view.pieces.map(({ text, tokens }) => ({ text, tokens: Math.round(tokens * scale) }))
      const usage = pricer.add({ pieces, outputTokens: call.usage?.output ?? 0, at: call.at })
      await session.record({ turn: turn.id, usage })
    } catch (error) {
      // A call that cannot be made to fit is skipped.
      if (!isPlimsollError(error)) throw error
    }
  }
}
