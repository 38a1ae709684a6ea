/** `plimsoll/policies`: the presets, and the bounds on tool results for programs that have their own loop. */
export { plimsoll, policies, policyNamed, type PresetName } from '../engine/presets/index.ts'
export { toolBudget } from '../engine/tool-results/tool-budget.ts'
export { slidingWindow } from '../engine/presets/contextguard/policy.ts'
