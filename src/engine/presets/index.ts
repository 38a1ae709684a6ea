import { PlimsollError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import { adkCode } from './adk-code/policy.ts'
import { aiAgent } from './ai-agent/policy.ts'
import { autosre } from './autosre/policy.ts'
import { contextguard, contextguardWindow, slidingWindow } from './contextguard/policy.ts'
import { cyberAutoagent } from './cyber-autoagent/policy.ts'
import type { Environment } from './environment.ts'
import { plimsoll } from './plimsoll/policy.ts'

export { adkCode, aiAgent, autosre, contextguard, contextguardWindow, cyberAutoagent, plimsoll, slidingWindow }
/** The designs' own guards and estimates, as pure functions. */
export { guardAdkCode, type AdkCodeOptions } from './adk-code/guard.ts'
export { adkCodeEstimator } from './adk-code/estimate.ts'
export {
  guardAiAgent,
  truncateJson,
  truncateToBytes,
  truncateToGraphemes,
  truncateToTokens,
} from './ai-agent/truncate.ts'
export { aiAgentEstimator, aiAgentSchemaTokens } from './ai-agent/estimate.ts'
export { handleLargePayload, type LargePayloadOptions } from './autosre/large-payload.ts'
export { guardSreResponse, type SreGuardOptions } from './autosre/truncation-guard.ts'
export { autosreEmergency, autosreSliding } from './autosre/estimate.ts'
export { contextguardCalibrated, contextguardHeuristic } from './contextguard/estimate.ts'
export {
  compressCyberInput,
  compressCyberResult,
  routeCyberResult,
  type CyberLimits,
} from './cyber-autoagent/compress.ts'
export { cyberBudgetTokens, cyberEstimate, cyberRatio } from './cyber-autoagent/estimate.ts'

/** The presets, each made with the environment that it runs in. */
const PRESETS: readonly ((env: Environment) => Policy)[] = [
  () => plimsoll,
  autosre,
  cyberAutoagent,
  () => contextguard,
  () => contextguardWindow,
  adkCode,
  aiAgent,
]

/** The presets with their documented numbers, by name. */
export const policies: ReadonlyMap<string, Policy> = new Map(
  PRESETS.map((preset) => preset({})).map((policy) => [policy.name, policy]),
)

/** A preset with the environment's variables applied. */
export function policyNamed(name: string, env: Environment = process.env): Policy {
  const policy = PRESETS.map((preset) => preset(env)).find((candidate) => candidate.name === name)
  if (policy === undefined) {
    throw new PlimsollError('bad-config', `There is no policy ${JSON.stringify(name)}.`, {
      advice: `Known policies: ${[...policies.keys()].join(', ')}.`,
    })
  }
  return policy
}
