import type { Plimsoll } from '../../options.ts'
import { conversationView } from '../../engine/replay/conversation-view.ts'
import { SessionPricer } from '../../engine/replay/session-price.ts'
import { codecs } from '../../formats/registry.ts'
import type { Recording } from '../../formats/transcripts/recording.ts'
import type { PriceModel } from '../../core/price.ts'
import { isPlimsollError } from '../../core/errors.ts'

export interface PlayOptions {
  readonly id: string
  readonly model: string
  readonly window: number
  readonly price: PriceModel
  readonly countText: (text: string) => number
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
      const outputTokens = call.usage?.output ?? 0
      const usage = pricer.add({ pieces: view.pieces, outputTokens, ...(call.at !== undefined && { at: call.at }) })
      await session.record({ turn: turn.id, usage })
    } catch (error) {
      // A call that cannot be made to fit is left out, as it would have been refused.
      if (!isPlimsollError(error)) throw error
    }
  }
}
