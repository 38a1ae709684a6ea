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
  /** Told the recorded time of each call, so that its records carry that. */
  readonly setClock: (at: number) => void
}

/**
 * Re-runs a recorded session call by call, so that a store holds it as if it had come through a proxy. Usage is what the provider would
 * report under its cache rules.
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
      // The meter's word on the whole: it knows what a vendor does not count.
      const all = view.pieces.reduce((sum, piece) => sum + piece.tokens, 0)
      const scale = all === 0 ? 0 : turn.load.count.tokens / all
      const pieces = view.pieces.map(({ text, tokens }) => ({ text, tokens: Math.round(tokens * scale) }))
      const usage = pricer.add({ pieces, outputTokens: call.usage?.output ?? 0, at: call.at })
      await session.record({ turn: turn.id, usage })
    } catch (error) {
      // A call that cannot be made to fit is left out, as it would have been refused.
      if (!isPlimsollError(error)) throw error
    }
  }
}
