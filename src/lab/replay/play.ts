import { isPlimsollError } from '../../core/errors.ts'
import { type PriceModel, simulateUsage } from '../../core/price.ts'
import type { Usage } from '../../core/usage.ts'
import { codecs } from '../../formats/registry.ts'
import type { Plimsoll } from '../../options.ts'
import type { Recording } from '../transcripts/recording.ts'
import { commonPrefix, conversationView, type SentPiece } from './price.ts'

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
  let before: { readonly pieces: readonly SentPiece[]; readonly at: number | undefined } | undefined
  const usageOf = (pieces: readonly SentPiece[], load: number, { usage, at }: Recording['calls'][number]): Usage => {
    const all = pieces.reduce((sum, piece) => sum + piece.tokens, 0)
    // The meter's word on the whole, by the share that both requests begin with: it knows what a vendor does not count.
    const share = before === undefined || all === 0 ? 0 : commonPrefix(before.pieces, pieces) / all
    const elapsed = at === undefined || before?.at === undefined ? 0 : at - before.at
    before = { pieces, at }
    const tokens = Math.round(load)
    const commonPrefixTokens = Math.round(share * tokens)
    return simulateUsage(
      { tokens, commonPrefixTokens, outputTokens: usage?.output ?? 0, elapsedSeconds: Math.max(0, elapsed) / 1000 },
      price,
    )
  }
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
      const usage = usageOf(view.pieces, turn.load.count.tokens, call)
      await session.record({ turn: turn.id, usage })
    } catch (error) {
      // A call that cannot be made to fit is left out, as it would have been refused.
      if (!isPlimsollError(error)) throw error
    }
  }
}
