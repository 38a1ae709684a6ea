import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  promptFraming: 'contents',
  windowHoldsAnswer: false,
  staleThinkingHeaders: {},
  keepsAnswers: false,
  compactsHistory: () => false,
}
