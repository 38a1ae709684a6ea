import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  promptFraming: 'items',
  windowHoldsAnswer: true,
  // A call without the reasoning item that led to it is refused.
  mayStrip: () => false,
  staleThinkingHeaders: {},
  keepsAnswers: true,
}
