import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  promptFraming: 'messages',
  windowHoldsAnswer: true,
  staleThinkingHeaders: { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' },
  keepsAnswers: false,
  compactsHistory: () => false,
}
