import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  promptFraming: 'messages',
  windowHoldsAnswer: true,
  // Templates leave the thinking of earlier turns out by themselves.
  mayStrip: () => true,
  staleThinkingHeaders: {},
  keepsAnswers: false,
  compactsHistory: () => false,
}
