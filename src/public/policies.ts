/** `plimsoll/policies`: the presets, and what their designs do after a tool ran, for programs that have their own loop. */
export { plimsoll, policies, policyNamed, type PresetName } from '../engine/presets/index.ts'
export { toolBudget } from '../engine/tool-results/tool-budget.ts'
export { slidingWindow } from '../engine/presets/contextguard/policy.ts'
export { guardAdkCode } from '../engine/presets/adk-code.ts'
export { guardAiAgent } from '../engine/presets/ai-agent/truncate.ts'
export { guardSreResponse } from '../engine/presets/autosre/guard.ts'
export { handleLargePayload } from '../engine/presets/autosre/large-payload.ts'
export { compressCyberResult, routeCyberResult } from '../engine/presets/cyber-autoagent/compress.ts'
