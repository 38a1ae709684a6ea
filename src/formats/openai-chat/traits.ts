import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  promptFraming: 'messages',
  windowHoldsAnswer: true,
  // Vendors that insist on an echo insist on it beside calls.
  mayStrip: (thought, items) =>
    thought.sealed !== true && !items.some((other) => other.kind === 'call' && other.message === thought.message),
  staleThinkingHeaders: {},
  keepsAnswers: false,
  compactsHistory: () => false,
}
