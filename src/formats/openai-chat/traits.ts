import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  promptFraming: 'messages',
  windowHoldsAnswer: true,
  staleThinkingHeaders: {},
  keepsAnswers: false,
  compactsHistory: () => false,
}
