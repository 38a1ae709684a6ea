import type { WireTraits } from '../../core/wire-traits.ts'

export const traits: WireTraits = {
  // The same numbers as the meter has for Gemini's models on other wires.
  overhead: {
    perRequest: 0,
    perMessage: 1,
    perCall: 4,
    perResult: 4,
    perAnswer: 1,
    framingSlack: 3,
    toolsOnce: 0,
    perTool: 0,
    toolsFactor: 0.93,
    toolsSpread: 0.3,
    headIsMessage: true,
    callsInMessages: true,
  },
  windowHoldsAnswer: false,
  // A signature belongs to the thought of a model that wants it back.
  mayStrip: (thought) => thought.sealed !== true,
  staleThinkingHeaders: {},
  keepsAnswers: false,
}
