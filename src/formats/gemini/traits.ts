import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  promptFraming: 'contents',
  windowHoldsAnswer: false,
  // A signature belongs to the thought of a model that wants it back.
  mayStrip: (thought) => thought.sealed !== true,
  staleThinkingHeaders: {},
  keepsAnswers: false,
  compactsHistory: () => false,
}
