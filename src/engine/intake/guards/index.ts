/** The truncation guards of the five source designs as pure steps, with their numbers and markers. Deviations stand at each function. */
export { guardAdkCode } from './adk-code.ts'
export type { AdkCodeOptions } from './adk-code.ts'
export {
  AI_AGENT_MAX_BYTES,
  guardAiAgent,
  truncateJson,
  truncateToBytes,
  truncateToGraphemes,
  truncateToTokens,
} from './ai-agent.ts'
export { guardSreResponse } from './autosre.ts'
export type { SreGuardOptions } from './autosre.ts'
export { excerpt } from './contextguard.ts'
export {
  compressCyberInput,
  compressCyberResult,
  CYBER_DEFAULTS,
  readCyberLimits,
  routeCyberResult,
} from './cyber-autoagent.ts'
export type { Compressed, CompressionMetadata, CyberLimits } from './cyber-autoagent.ts'
export type { Environment, GuardCut, Guarded } from './guard.ts'
export {
  handleLargePayload,
  isLargePayload,
  LARGE_PAYLOAD_DEFAULTS,
  payloadSize,
  readLargePayloadConfig,
} from './large-payload.ts'
export type {
  HandledPayload,
  LargePayloadConfig,
  LargePayloadOptions,
  PayloadMode,
  PayloadSize,
} from './large-payload.ts'
export { INTAKE_TRIGGERS, readTriggers, triggeredBy } from './triggers.ts'
export type { Design, IntakeTrigger } from './triggers.ts'
