import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  promptFraming: 'messages',
  windowHoldsAnswer: true,
  // Vendors that insist on an echo insist on it beside calls.
  mayStrip: (thought, besideCalls) => thought.sealed !== true && !besideCalls,
  staleThinkingHeaders: {},
  keepsAnswers: false,
  compactsHistory: () => false,
}
