import { CHAT_OVERHEAD, type WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  overhead: { ...CHAT_OVERHEAD, perCall: 6, perResult: 9, perAnswer: 2, toolsFactor: 0.64, callsInMessages: false },
  windowHoldsAnswer: true,
  // A call without the reasoning item that led to it is refused.
  mayStrip: () => false,
  staleThinkingHeaders: {},
  keepsAnswers: true,
}
