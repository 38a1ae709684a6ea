/** `plimsoll/policies`: the presets, and bounds on tool results for your own agent loop. */
export { plimsoll, policies, policyNamed, type PresetName } from '../engine/presets/index.ts'
export { toolBudget } from '../engine/tool-results/tool-budget.ts'
export { slidingWindow } from '../engine/presets/contextguard/policy.ts'
