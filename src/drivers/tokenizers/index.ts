export { approximate, createTokenizerById, type TokenizerByIdOptions } from './by-id.ts'
export { type CountedText, countText } from './count.ts'
export { adkCodeEstimator } from './designs/adk-code.ts'
export { aiAgentEstimator, aiAgentSchemaTokens, approximateTokens, mostTokens } from './designs/ai-agent.ts'
export { autosreEmergency, autosreSliding } from './designs/autosre.ts'
export {
  contextguardCalibrated,
  contextguardHeuristic,
  type ContextguardOptions,
  type ContextguardState,
} from './designs/contextguard.ts'
export { cyberBudgetTokens, cyberEstimate, cyberRatio } from './designs/cyber-autoagent.ts'
export type { LoadEstimator } from './designs/messages.ts'
export { OPEN_MODEL_PACKAGES } from './open-models.ts'
export { createTokenizers, type Tokenizers, type TokenizersOptions } from './tokenizers.ts'
