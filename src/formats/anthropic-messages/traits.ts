import { CHAT_OVERHEAD, type WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  // Claude's own overhead goes by the model, on whatever wire; other models behind this one are framed like a chat.
  overhead: CHAT_OVERHEAD,
  windowHoldsAnswer: true,
  mayStrip: () => true,
  staleThinkingHeaders: { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' },
  keepsAnswers: false,
}
