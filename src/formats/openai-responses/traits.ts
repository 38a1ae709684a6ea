import type { WireTraits } from '../../core/wire-traits.ts'

/** Servers of the same wire answer 400 to a member that they do not know. */
const COMPACTING = /^https:\/\/(?:[\w-]+\.)*(?:openai\.com|openai\.azure\.com|services\.ai\.azure\.com)(?:[:/]|$)/i

export const traits: WireTraits = {
  promptFraming: 'items',
  windowHoldsAnswer: true,
  staleThinkingHeaders: {},
  keepsAnswers: true,
  compactsHistory: (endpoint) => endpoint === undefined || COMPACTING.test(endpoint),
}
